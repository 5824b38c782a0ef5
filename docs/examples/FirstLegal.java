// Plays the first legal action in any game. It takes what it needs out of each line; a real bot uses a JSON library.
import java.io.BufferedReader;
import java.io.InputStreamReader;

public class FirstLegal {
    static String line;

    /** Returns the value of a key, of a list its first number. */
    static String value(String key) {
        int from = line.indexOf("\"" + key + "\":") + key.length() + 3;
        while ("\"[".indexOf(line.charAt(from)) >= 0) from++;
        int to = from;
        while ("\",]}".indexOf(line.charAt(to)) < 0) to++;
        return line.substring(from, to);
    }

    static void say(String format, String... values) {
        System.out.println(String.format(format.replace('\'', '"'), (Object[]) values));
        System.out.flush();
    }

    public static void main(String[] arguments) throws Exception {
        var input = new BufferedReader(new InputStreamReader(System.in));
        while ((line = input.readLine()) != null) {
            switch (value("type")) {
                case "hello" -> say("{'type':'hello','protocol':1,'name':'first-legal','version':'1','games':[],"
                        + "'nonce':'%s'}", value("nonce"));
                case "new_match" -> say("{'type':'ready','match':'%s','deterministic':true}", value("match"));
                case "go" -> say("{'type':'action','id':'%s','action':%s}", value("id"), value("legal"));
                case "ping" -> say("{'type':'pong','n':%s}", value("n"));
                case "quit" -> System.exit(0);
                default -> { }
            }
        }
    }
}
