package observe

import (
	"goodput/loadgen/record"
	"goodput/loadgen/target"
)

// serverAccount copies the server's own account into the row.
func serverAccount(row *record.Request, s *target.Server) {
	row.ServerSource = sourceName(s.Source)
	row.ServerQueue, row.ServerPrefill, row.ServerDecode = count64(s.Queue), count64(s.Prefill), count64(s.Decode)
	row.ServerTTFT, row.ServerE2E = count64(s.TTFT), count64(s.E2E)
	if p := &s.Spent; p.Known {
		row.ServerSpentFrontEnd, row.ServerSpentQueue = count64(p.FrontEnd), count64(p.Queue)
		row.ServerSpentPrefill, row.ServerSpentDecode = count64(p.Prefill), count64(p.Decode)
		row.ServerSpentInterference, row.ServerSpentTransfer = count64(p.Interference), count64(p.Transfer)
	}
	if p := &s.Speculation; p.Known {
		row.ServerDrafts, row.ServerDraftTokens = count32(p.Drafts), count32(p.Tokens)
		row.ServerAcceptedTokens = count32(p.Accepted)
	}
	row.ServerPreempted = count64(s.Preempted)
	row.ServerCachedTokens = count32(s.CachedTokens)
	row.ServerPreemptions = count32(s.Preemptions)
	row.ServerRecomputed = count32(s.RecomputedToks)
}

func sourceName(s target.Source) string {
	switch s {
	case target.SourceInProcess:
		return "inprocess"
	case target.SourceHeader:
		return "header"
	case target.SourceOTLP:
		return "otlp"
	}
	return ""
}

// count64 is n, or Null if it is unknown.
func count64(n int64) int64 {
	if n < 0 {
		return record.Null
	}
	return n
}
