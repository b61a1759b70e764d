package query

import "goodput/loadgen/record"

// Drafts is the account of speculative decoding: of Requests whose server
// speculates, so many drafts were Verified, with so many Tokens, of which so many
// were Accepted.
type Drafts struct {
	Requests, Verified, Tokens, Accepted int64
}

func (d *Drafts) add(r *record.Request) {
	if r.ServerDrafts == record.Null32 {
		return
	}
	d.Requests++
	d.Verified += int64(r.ServerDrafts)
	d.Tokens += known(r.ServerDraftTokens)
	d.Accepted += known(r.ServerAcceptedTokens)
}

// Length is the mean number of tokens that a verification gives, the model's own
// included (vLLM's mean acceptance length); ok is false if there was none.
func (d *Drafts) Length() (tokens float64, ok bool) {
	return 1 + float64(d.Accepted)/float64(d.Verified), d.Verified > 0
}

// Rate is the share of drafted tokens that were accepted; ok is false if there
// were none.
func (d *Drafts) Rate() (share float64, ok bool) {
	return float64(d.Accepted) / float64(d.Tokens), d.Tokens > 0
}
