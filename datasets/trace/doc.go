// Package trace reads recorded workloads: files of public request traces become
// sets of planned requests with arrival times, and plans of sessions where the file
// tells them.
//
// A format fixes its units, and nothing in a file is guessed or repaired: the first
// row that is not as the format says is an error that names file, line and field,
// what was found and what was expected. On request such rows are left out and
// counted instead. Rows that are valid but no requests (failures in a log) are left
// out and counted too.
//
//	name          file             time              ids of content        sessions
//	azure         CSV              date and time     none                  none
//	mooncake      JSONL            ms, whole         512 tokens, chained   by session_id
//	timed_trace   JSONL            s, decimal        16 tokens, chained    none
//	burstgpt      CSV, 6 or 8      s, decimal        none                  Session ID
//	sharegpt      JSON array       none              text                  each entry
//	openai-batch  JSONL            none              text                  none
//	openai-chat   JSONL            none              text                  none
//	custom        JSONL            none              text                  none
//	weka          JSON, JSONL      s, decimal        block_size, session   each value
//	tracelab      CSV              ms, may lack      kept prefix           session_id
//	ragpulse      JSONL            s, in quotes      of unknown length     session_id
//	servegen      CSV and JSON     s, windows        none                  none
//	otel          JSON, JSONL      ns or ISO         kept prefix           conversation
//	vllm_replay   CSV              s, decimal        16 tokens, chained    none
//	goodput       JSONL            ns                keys and lengths      session
//
// Traps of the formats:
//
//   - azure: times have up to nine digits and may have a zone; without one they are
//     UTC. Files of 2024 have whole seconds without a point among others.
//   - mooncake: published times are whole multiples of 3 s, so that about ten
//     requests arrive at one instant (Shape spreads them). The last id of a row
//     stands for a partial block. Rows with session_id count only new tokens, and
//     later ones have a delay after the answer before instead of a timestamp.
//   - timed_trace: the same fields in seconds with blocks of 16 tokens; the number
//     of ids tells the two apart.
//   - burstgpt: the columns of sessions stand between the others, so columns are
//     found by name. Rows without an answer are failures. Times do not begin at 0.
//     Prompts of a conversation contain its history as logged.
//   - sharegpt, openai-*, custom: tokens are estimated from text, one for 4 bytes.
//   - weka: in is the whole context, and the file does not say when sessions
//     arrived: all start at 0. Times of sub-agents count from their start, or from
//     the session's; the first sub-agent that can tell decides for the file. Markers
//     stand at the start of a sub-agent, in some published files at its end.
//   - tracelab: arrival_time is the session's; prefix_len is what is kept of the
//     previous prompt and answer, and for a first row what there was before.
//   - ragpulse: not in order of time; ids name components of unknown length, so that
//     reuse is unknown.
//   - burstgpt: the wait before a step is what is left of the gap to the one before
//     after the elapsed time of its answer; without that column it reads as 0.
//   - ragpulse: sessions have times but no waits, which read as 0.
//   - servegen: no requests but what to draw them from; two files.
//   - vllm_replay: ids are of full blocks only; what came of the requests is in further
//     columns, which are not read.
//   - otel: without usage the lengths are estimates; fan-out is found by overlap.
//
// Recorded text is not sent: prompts are content planned with the recorded lengths
// and, where the format has it, the recorded sharing of prefixes. Times are counted
// from the first row.
//
// A trace with sessions can be read in two ways. As Sessions, shaped or not, each step
// waits for those before it and then for as long as was recorded, and it is the
// arrivals of sessions that are sliced, spread, scaled and repeated; rows outside of
// sessions are sessions of one step. As a flat set (Table, Shaped) each request has its
// own time: its recorded one, or the session's arrival and the planned waits since.
// Then nothing waits for an answer: that is what happened, but on a server of another
// speed the steps of a session overlap, or lie apart, as no client would send them.
//
// Convert writes traces, in our own format (one JSON object a line: a first one with
// what holds for the file, then one for each Row, with times in ns and content as
// pairs of key and tokens) or as TraceLab's CSV with further columns for threads,
// triggers and tenants.
//
// Export and ExportSessions write what a set plans, whatever made it, as planned rows
// of our own format: the first line says "planned":true, and each row has out_key, the
// key of its answer, and where they are not 0 reasoning, the tokens of it in the
// answer, and in place of a session prefix, conversation and turn, which name its
// group and its conversation as the set does. A span is [key, tokens, role, calls,
// private] without the zeros at its end, with the roles 0 user, 1 system, 2 assistant
// and 3 tool. Session names are numbers, and name is what the source called it. What
// is read of planned rows is what was written: no seed changes it.
//
// It does not compute statistics (package describe).
package trace
