PRAGMA application_id=1634889313;
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
CREATE TABLE bots (
	id INTEGER NOT NULL, 
	identity TEXT NOT NULL, 
	name TEXT NOT NULL, 
	spec TEXT NOT NULL, 
	distribution TEXT NOT NULL, 
	version TEXT NOT NULL, 
	files TEXT NOT NULL, 
	CONSTRAINT pk_bots PRIMARY KEY (id), 
	CONSTRAINT ck_bots_distribution_length CHECK (length(distribution) BETWEEN 0 AND 256), 
	CONSTRAINT ck_bots_files_length CHECK (length(files) BETWEEN 0 AND 1048576), 
	CONSTRAINT ck_bots_identity_length CHECK (length(identity) BETWEEN 64 AND 64), 
	CONSTRAINT ck_bots_name_length CHECK (length(name) BETWEEN 1 AND 64), 
	CONSTRAINT ck_bots_spec_length CHECK (length(spec) BETWEEN 1 AND 4096), 
	CONSTRAINT ck_bots_version_length CHECK (length(version) BETWEEN 0 AND 256), 
	CONSTRAINT uq_bots_identity UNIQUE (identity)
)
 STRICT

;
INSERT INTO "bots" VALUES(1,'9adea98dc9e37858c2a7aea649f5dab40429a1a55949d94f568e2448f21f2ce1','a','a:playouts=100','bot-arena','0.1.0','{}');
INSERT INTO "bots" VALUES(2,'9cfb6340a28d469cce5f849e4177304f8fa13f7bc428880fe0741d3bc60067c9','b','b:playouts=100','bot-arena','0.1.0','{}');
INSERT INTO "bots" VALUES(3,'3f7271475bfa8dfb84f53a42440682c1bc471cb2a8424b979c189130c8f46b79','c','c:playouts=100','bot-arena','0.1.0','{}');
CREATE TABLE entrants (
	tournament_id INTEGER NOT NULL, 
	seat INTEGER NOT NULL, 
	label TEXT NOT NULL, 
	bot_id INTEGER NOT NULL, 
	time_limit TEXT NOT NULL, 
	CONSTRAINT pk_entrants PRIMARY KEY (tournament_id, seat), 
	CONSTRAINT ck_entrants_label_length CHECK (length(label) BETWEEN 1 AND 256), 
	CONSTRAINT ck_entrants_time_limit_length CHECK (length(time_limit) BETWEEN 0 AND 256), 
	CONSTRAINT ck_entrants_seat_least CHECK (seat >= 0), 
	CONSTRAINT fk_entrants_bot_id FOREIGN KEY(bot_id) REFERENCES bots (id), 
	CONSTRAINT fk_entrants_tournament_id FOREIGN KEY(tournament_id) REFERENCES tournaments (id), 
	CONSTRAINT uq_entrants_tournament_id_label UNIQUE (tournament_id, label)
)
 STRICT

;
INSERT INTO "entrants" VALUES(1,0,'a',1,'');
INSERT INTO "entrants" VALUES(1,1,'b',2,'');
INSERT INTO "entrants" VALUES(1,2,'c',3,'');
INSERT INTO "entrants" VALUES(2,0,'a',1,'');
INSERT INTO "entrants" VALUES(2,1,'a_2',1,'');
CREATE TABLE leases (
	tournament_id INTEGER NOT NULL, 
	uuid TEXT NOT NULL, 
	host TEXT NOT NULL, 
	boot_id TEXT NOT NULL, 
	pid INTEGER NOT NULL, 
	pid_start INTEGER NOT NULL, 
	expires_at REAL NOT NULL, 
	CONSTRAINT pk_leases PRIMARY KEY (tournament_id), 
	CONSTRAINT ck_leases_boot_id_length CHECK (length(boot_id) BETWEEN 0 AND 64), 
	CONSTRAINT ck_leases_host_length CHECK (length(host) BETWEEN 0 AND 256), 
	CONSTRAINT ck_leases_uuid_length CHECK (length(uuid) BETWEEN 0 AND 64), 
	CONSTRAINT fk_leases_tournament_id FOREIGN KEY(tournament_id) REFERENCES tournaments (id)
)
 STRICT

;
INSERT INTO "leases" VALUES(1,'','','',0,0,0.0);
INSERT INTO "leases" VALUES(2,'','','',0,0,0.0);
CREATE TABLE matches (
	id INTEGER NOT NULL, 
	tournament_id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	attempt INTEGER NOT NULL, 
	first_seat INTEGER NOT NULL, 
	second_seat INTEGER NOT NULL, 
	first_bot INTEGER NOT NULL, 
	second_bot INTEGER NOT NULL, 
	outcome TEXT NOT NULL, 
	termination TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	rated INTEGER NOT NULL, 
	is_final INTEGER NOT NULL, 
	actions BLOB NOT NULL, 
	num_opening INTEGER NOT NULL, 
	times BLOB NOT NULL, 
	claims BLOB NOT NULL, 
	match_hash BLOB NOT NULL, 
	seed_first INTEGER NOT NULL, 
	seed_second INTEGER NOT NULL, 
	started_at REAL NOT NULL, 
	duration_ms INTEGER NOT NULL, 
	tier TEXT NOT NULL, 
	fault TEXT NOT NULL, 
	versions TEXT NOT NULL, 
	record_hash BLOB NOT NULL, 
	CONSTRAINT pk_matches PRIMARY KEY (id), 
	CONSTRAINT ck_matches_outcome_known CHECK (outcome = 'first' OR outcome = 'second' OR outcome = 'draw' OR outcome = 'void'), 
	CONSTRAINT ck_matches_termination_known CHECK (termination = 'rules' OR termination = 'adjudicated' OR termination = 'resign' OR termination = 'illegal_move' OR termination = 'malformed' OR termination = 'oversize_line' OR termination = 'output_flood' OR termination = 'protocol_order' OR termination = 'time_move' OR termination = 'time_game' OR termination = 'crash' OR termination = 'oom' OR termination = 'bot_error' OR termination = 'no_common_protocol' OR termination = 'init_timeout' OR termination = 'init_crash' OR termination = 'disconnect' OR termination = 'walkover' OR termination = 'arena_stall' OR termination = 'arena_error' OR termination = 'aborted'), 
	CONSTRAINT ck_matches_tier_known CHECK (tier = 'T0' OR tier = 'T1' OR tier = 'T2' OR tier = 'T3' OR tier = 'T4'), 
	CONSTRAINT ck_matches_attempt_least CHECK (attempt >= 0), 
	CONSTRAINT ck_matches_duration_ms_least CHECK (duration_ms >= 0), 
	CONSTRAINT ck_matches_two_seats CHECK (first_seat <> second_seat), 
	CONSTRAINT ck_matches_is_final_flag CHECK (is_final IN (0, 1)), 
	CONSTRAINT ck_matches_actions_length CHECK (length(actions) BETWEEN 0 AND 1048576), 
	CONSTRAINT ck_matches_claims_length CHECK (length(claims) BETWEEN 0 AND 8388608), 
	CONSTRAINT ck_matches_fault_length CHECK (length(fault) BETWEEN 0 AND 262144), 
	CONSTRAINT ck_matches_match_hash_length CHECK (length(match_hash) BETWEEN 32 AND 32), 
	CONSTRAINT ck_matches_reason_length CHECK (length(reason) BETWEEN 0 AND 4096), 
	CONSTRAINT ck_matches_record_hash_length CHECK (length(record_hash) BETWEEN 32 AND 32), 
	CONSTRAINT ck_matches_times_length CHECK (length(times) BETWEEN 0 AND 8388608), 
	CONSTRAINT ck_matches_versions_length CHECK (length(versions) BETWEEN 0 AND 4096), 
	CONSTRAINT ck_matches_num_opening_range CHECK (num_opening BETWEEN 0 AND length(actions)), 
	CONSTRAINT ck_matches_rated_flag CHECK (rated IN (0, 1)), 
	CONSTRAINT ck_matches_seed_first_least CHECK (seed_first >= 0), 
	CONSTRAINT ck_matches_seed_second_least CHECK (seed_second >= 0), 
	CONSTRAINT fk_matches_first_bot FOREIGN KEY(first_bot) REFERENCES bots (id), 
	CONSTRAINT fk_matches_second_bot FOREIGN KEY(second_bot) REFERENCES bots (id), 
	CONSTRAINT fk_matches_tournament_id_first_seat FOREIGN KEY(tournament_id, first_seat) REFERENCES entrants (tournament_id, seat), 
	CONSTRAINT fk_matches_tournament_id_number FOREIGN KEY(tournament_id, number) REFERENCES planned (tournament_id, number), 
	CONSTRAINT fk_matches_tournament_id_second_seat FOREIGN KEY(tournament_id, second_seat) REFERENCES entrants (tournament_id, seat), 
	CONSTRAINT uq_matches_tournament_id_number_attempt UNIQUE (tournament_id, number, attempt)
)
 STRICT

;
INSERT INTO "matches" VALUES(1,1,1,0,0,1,1,2,'first','rules','X wins by four in a row',1,1,X'03020301',2,X'0400000000000000000C00000070110100',X'0000C07F0000C07F0000003F0000C07F',X'B53B1FD984F1426B85727EAC115EF2165516658ED90260170A7DE0CECFAF4D00',2,3,1750000001.0,70012,'T2','','{"arena": "0.1.0"}',X'C19898A70358F7EB9A1982FFAF7471EF81BB9283EDD4BD041CBD3E2008F85608');
INSERT INTO "matches" VALUES(2,1,2,0,1,2,2,3,'first','rules','Ünïcode “quotes” ''; DROP TABLE matches',1,1,X'03020302',2,X'0400000000000000000C00000070110100',X'0000C07F0000C07F0000003F0000C07F',X'3F9D8B3FB8D7818703686FF747CCB3318C97BD23EDDBE2694D7EC34241CABF61',4,5,1750000002.0,70012,'T2','','{"arena": "0.1.0"}',X'37D49A3BC97C3B6860A182F92A56AFACB56D05577D8A46E344A4CD8B45E438EE');
INSERT INTO "matches" VALUES(3,1,3,0,2,0,3,1,'void','aborted','X wins by four in a row',0,0,X'03020303',2,X'0400000000000000000C00000070110100',X'0000C07F0000C07F0000003F0000C07F',X'6F59DE98435A4AD3E4890AA3867E69CC52352DB137D5D42B6303B8E06FD957B2',6,7,1750000003.0,70012,'T2','','{"arena": "0.1.0"}',X'A30538D8D2068724F46371A164E37CA0328DA06ABEBDD16ED20E60B5DC3F5AD7');
INSERT INTO "matches" VALUES(4,1,3,1,2,0,3,1,'first','rules','X wins by four in a row',1,1,X'03020303',2,X'0400000000000000000C00000070110100',X'0000C07F0000C07F0000003F0000C07F',X'6F59DE98435A4AD3E4890AA3867E69CC52352DB137D5D42B6303B8E06FD957B2',6,7,1750000003.0,70012,'T2','','{"arena": "0.1.0"}',X'A381F11A7BF6796FF7AA5348055688BB0E08D81EFE15DA46EF426F54F930E614');
INSERT INTO "matches" VALUES(5,1,4,0,1,0,2,1,'draw','rules','X wins by four in a row',1,1,X'03020304',2,X'0400000000000000000C00000070110100',X'0000C07F0000C07F0000003F0000C07F',X'B53B1FD984F1426B85727EAC115EF2165516658ED90260170A7DE0CECFAF4D00',8,9,1750000004.0,70012,'T2','','{"arena": "0.1.0"}',X'E92321DDC6C2D57EB5EB7521B142E4531E89C58AD2D0D7B99B4200863A81376C');
INSERT INTO "matches" VALUES(6,1,7,0,0,1,1,2,'first','rules','X wins by four in a row',1,1,X'03020300',2,X'0400000000000000000C00000070110100',X'0000C07F0000C07F0000003F0000C07F',X'B53B1FD984F1426B85727EAC115EF2165516658ED90260170A7DE0CECFAF4D00',14,15,1750000007.0,70012,'T2','','{"arena": "0.1.0"}',X'5EB29FC24A53D81F2774DC912EC70B9163B26A37B1E40176FCC45CF0F389F137');
INSERT INTO "matches" VALUES(7,1,8,0,1,2,2,3,'first','time_move','X wins by four in a row',1,1,X'03020301',2,X'0400000000000000000C00000070110100',X'0000C07F0000C07F0000003F0000C07F',X'03D06719D49BD824AB0496756CD4A4B71C8F0E5E735EA0DA40B01813481C7A43',16,17,1750000008.0,70012,'T2','{"elapsed_ms": 5101}','{"arena": "0.1.1"}',X'2A2993A61D68680407141A73BBD2AB838C85BE197402DFC96AEB14B5C373AABA');
INSERT INTO "matches" VALUES(8,1,5,0,2,1,3,2,'first','rules','X wins by four in a row',0,1,X'03020305',2,X'0400000000000000000C00000070110100',X'0000C07F0000803E0000C07F000080BF',X'54C30DF62C2C5D3292DB79067199E2842E82E2592FC2A40D30A8165C3836C1B7',10,11,1750000005.0,70012,'T2','','{"arena": "0.1.0"}',X'753EE4F76197662D4E99645D2134167AA5BA07488DA8BC1BD9283E155427F620');
INSERT INTO "matches" VALUES(9,2,1,0,0,1,1,1,'first','rules','X wins by four in a row',1,1,X'6801FF0000010000',2,X'080000000000000000000000000000000000000000000100000500000000000000',X'0000C07F0000C07F0000003F0000C07F',X'B53B1FD984F1426B85727EAC115EF2165516658ED90260170A7DE0CECFAF4D00',2,3,1750000001.0,70012,'T2','','{"arena": "0.1.0"}',X'3629954139D33AF57F41D435138D979F97F72F73D5D5CBA2EAF35495B37C0E4A');
INSERT INTO "matches" VALUES(10,2,3,0,0,1,1,1,'void','init_crash','X wins by four in a row',0,1,X'',0,X'',X'',X'6F59DE98435A4AD3E4890AA3867E69CC52352DB137D5D42B6303B8E06FD957B2',6,7,1750000003.0,70012,'T2','','{"arena": "0.1.0"}',X'C261B1C6D8F61EB20666760F1890DB8621CC73F7CCDDC755DDE9CDEF10B1B946');
CREATE TABLE planned (
	tournament_id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	encounter INTEGER NOT NULL, 
	match_no INTEGER NOT NULL, 
	first_seat INTEGER NOT NULL, 
	second_seat INTEGER NOT NULL, 
	opening BLOB NOT NULL, 
	state TEXT NOT NULL, 
	attempt INTEGER NOT NULL, 
	CONSTRAINT pk_planned PRIMARY KEY (tournament_id, number), 
	CONSTRAINT ck_planned_state_known CHECK (state = 'planned' OR state = 'done'), 
	CONSTRAINT ck_planned_attempt_least CHECK (attempt >= 0), 
	CONSTRAINT ck_planned_encounter_least CHECK (encounter >= 0), 
	CONSTRAINT ck_planned_two_seats CHECK (first_seat <> second_seat), 
	CONSTRAINT ck_planned_opening_length CHECK (length(opening) BETWEEN 0 AND 65536), 
	CONSTRAINT ck_planned_match_no_least CHECK (match_no >= 0), 
	CONSTRAINT ck_planned_number_least CHECK (number >= 1), 
	CONSTRAINT fk_planned_tournament_id_first_seat FOREIGN KEY(tournament_id, first_seat) REFERENCES entrants (tournament_id, seat), 
	CONSTRAINT fk_planned_tournament_id_second_seat FOREIGN KEY(tournament_id, second_seat) REFERENCES entrants (tournament_id, seat), 
	CONSTRAINT fk_planned_tournament_id FOREIGN KEY(tournament_id) REFERENCES tournaments (id), 
	CONSTRAINT uq_planned_tournament_id_encounter_match_no UNIQUE (tournament_id, encounter, match_no)
)
 WITHOUT ROWID,
 STRICT

;
INSERT INTO "planned" VALUES(1,1,0,0,0,1,X'0302','done',0);
INSERT INTO "planned" VALUES(1,2,1,0,1,2,X'0302','done',0);
INSERT INTO "planned" VALUES(1,3,2,0,2,0,X'0302','done',1);
INSERT INTO "planned" VALUES(1,4,0,1,1,0,X'0302','done',0);
INSERT INTO "planned" VALUES(1,5,1,1,2,1,X'0302','done',0);
INSERT INTO "planned" VALUES(1,6,2,1,0,2,X'0302','planned',0);
INSERT INTO "planned" VALUES(1,7,0,2,0,1,X'0302','done',0);
INSERT INTO "planned" VALUES(1,8,1,2,1,2,X'0302','done',0);
INSERT INTO "planned" VALUES(2,1,0,0,0,1,X'03000200','done',0);
INSERT INTO "planned" VALUES(2,2,0,1,1,0,X'03000200','planned',0);
INSERT INTO "planned" VALUES(2,3,0,2,0,1,X'03000200','done',0);
INSERT INTO "planned" VALUES(2,4,0,3,1,0,X'03000200','planned',0);
CREATE TABLE requests (
	id INTEGER NOT NULL, 
	tournament_id INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	created_at REAL NOT NULL, 
	done_at REAL, 
	CONSTRAINT pk_requests PRIMARY KEY (id), 
	CONSTRAINT ck_requests_kind_length CHECK (length(kind) BETWEEN 1 AND 64), 
	CONSTRAINT fk_requests_tournament_id FOREIGN KEY(tournament_id) REFERENCES tournaments (id)
)
 STRICT

;
INSERT INTO "requests" VALUES(1,1,'stop',1750000001.0,1750000002.0);
INSERT INTO "requests" VALUES(2,1,'abort',1750000001.0,NULL);
CREATE TABLE tallies (
	tournament_id INTEGER NOT NULL, 
	first_seat INTEGER NOT NULL, 
	second_seat INTEGER NOT NULL, 
	outcome TEXT NOT NULL, 
	termination TEXT NOT NULL, 
	rated INTEGER NOT NULL, 
	num_matches INTEGER NOT NULL, 
	num_unique INTEGER NOT NULL, 
	CONSTRAINT pk_tallies PRIMARY KEY (tournament_id, first_seat, second_seat, outcome, termination, rated), 
	CONSTRAINT ck_tallies_outcome_known CHECK (outcome = 'first' OR outcome = 'second' OR outcome = 'draw' OR outcome = 'void'), 
	CONSTRAINT ck_tallies_termination_known CHECK (termination = 'rules' OR termination = 'adjudicated' OR termination = 'resign' OR termination = 'illegal_move' OR termination = 'malformed' OR termination = 'oversize_line' OR termination = 'output_flood' OR termination = 'protocol_order' OR termination = 'time_move' OR termination = 'time_game' OR termination = 'crash' OR termination = 'oom' OR termination = 'bot_error' OR termination = 'no_common_protocol' OR termination = 'init_timeout' OR termination = 'init_crash' OR termination = 'disconnect' OR termination = 'walkover' OR termination = 'arena_stall' OR termination = 'arena_error' OR termination = 'aborted'), 
	CONSTRAINT ck_tallies_two_seats CHECK (first_seat <> second_seat), 
	CONSTRAINT ck_tallies_num_unique_range CHECK (num_unique BETWEEN 0 AND num_matches), 
	CONSTRAINT ck_tallies_rated_flag CHECK (rated IN (0, 1)), 
	CONSTRAINT fk_tallies_tournament_id_first_seat FOREIGN KEY(tournament_id, first_seat) REFERENCES entrants (tournament_id, seat), 
	CONSTRAINT fk_tallies_tournament_id_second_seat FOREIGN KEY(tournament_id, second_seat) REFERENCES entrants (tournament_id, seat), 
	CONSTRAINT fk_tallies_tournament_id FOREIGN KEY(tournament_id) REFERENCES tournaments (id)
)
 WITHOUT ROWID,
 STRICT

;
INSERT INTO "tallies" VALUES(1,0,1,'first','rules',1,2,1);
INSERT INTO "tallies" VALUES(1,1,0,'draw','rules',1,1,1);
INSERT INTO "tallies" VALUES(1,1,2,'first','rules',1,1,1);
INSERT INTO "tallies" VALUES(1,1,2,'first','time_move',1,1,1);
INSERT INTO "tallies" VALUES(1,2,0,'first','rules',1,1,1);
INSERT INTO "tallies" VALUES(1,2,0,'void','aborted',0,1,1);
INSERT INTO "tallies" VALUES(1,2,1,'first','rules',0,1,1);
INSERT INTO "tallies" VALUES(2,0,1,'first','rules',1,1,1);
INSERT INTO "tallies" VALUES(2,0,1,'void','init_crash',0,1,1);
CREATE TABLE tournaments (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	type TEXT NOT NULL, 
	game TEXT NOT NULL, 
	num_actions INTEGER NOT NULL, 
	pool TEXT NOT NULL, 
	seed INTEGER NOT NULL, 
	config TEXT NOT NULL, 
	event TEXT NOT NULL, 
	site TEXT NOT NULL, 
	state TEXT NOT NULL, 
	created_at REAL NOT NULL, 
	num_planned INTEGER NOT NULL, 
	num_done INTEGER NOT NULL, 
	CONSTRAINT pk_tournaments PRIMARY KEY (id), 
	CONSTRAINT ck_tournaments_state_known CHECK (state = 'running' OR state = 'stopped' OR state = 'finished'), 
	CONSTRAINT ck_tournaments_type_known CHECK (type = 'round-robin' OR type = 'gauntlet' OR type = 'match'), 
	CONSTRAINT ck_tournaments_config_length CHECK (length(config) BETWEEN 0 AND 16777216), 
	CONSTRAINT ck_tournaments_event_length CHECK (length(event) BETWEEN 0 AND 4096), 
	CONSTRAINT ck_tournaments_game_length CHECK (length(game) BETWEEN 1 AND 4096), 
	CONSTRAINT ck_tournaments_name_length CHECK (length(name) BETWEEN 1 AND 256), 
	CONSTRAINT ck_tournaments_pool_length CHECK (length(pool) BETWEEN 1 AND 256), 
	CONSTRAINT ck_tournaments_site_length CHECK (length(site) BETWEEN 0 AND 4096), 
	CONSTRAINT ck_tournaments_num_actions_range CHECK (num_actions BETWEEN 1 AND 65536), 
	CONSTRAINT ck_tournaments_num_done_range CHECK (num_done BETWEEN 0 AND num_planned), 
	CONSTRAINT ck_tournaments_seed_least CHECK (seed >= 0), 
	CONSTRAINT uq_tournaments_name UNIQUE (name)
)
 STRICT

;
INSERT INTO "tournaments" VALUES(1,'cup','round-robin','connect-four',7,'5/move hosted',42,'type = "round-robin"
','','','running',1750000000.0,8,7);
INSERT INTO "tournaments" VALUES(2,'match-2','match','gomoku',361,'5/move hosted',42,'type = "round-robin"
','','','stopped',1750000000.0,4,2);
CREATE INDEX ix_entrants_bot_id ON entrants (bot_id);
CREATE INDEX ix_requests_tournament_id_id ON requests (tournament_id, id);
CREATE INDEX ix_matches_first_bot_id ON matches (first_bot, id);
CREATE INDEX ix_matches_repeats ON matches (tournament_id, match_hash, first_seat, second_seat, outcome, rated);
CREATE INDEX ix_matches_second_bot_id ON matches (second_bot, id);
CREATE INDEX ix_matches_started_at_id ON matches (started_at, id);
CREATE INDEX ix_matches_termination_id ON matches (termination, id);
CREATE INDEX ix_matches_tournament_id_id ON matches (tournament_id, id);
CREATE UNIQUE INDEX uq_matches_final ON matches (tournament_id, number) WHERE is_final = 1;
COMMIT;
