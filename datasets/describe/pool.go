package describe

import "goodput/datasets"

// Pool is what one prefix cache of bounded size finds of a trace, and an endless one
// beside it, if its requests are served one after the other in order of time. Both
// give credit for whole blocks only.
type Pool struct {
	Blocks      int `json:"blocks"`
	BlockTokens int `json:"block_tokens"`
	// TokenHit and Endless are shares of the prompt tokens; nil: the trace does not say
	// which prompts begin alike, or has more distinct content than is followed.
	TokenHit *float64 `json:"token_hit"`
	Endless  *float64 `json:"endless_token_hit"`
}

// OfPool sends the requests of a set to a cache of so many blocks of block tokens.
func OfPool(set datasets.Set, block, blocks int) *Pool {
	p := &Pool{Blocks: blocks, BlockTokens: block}
	if v, ok := datasets.PoolHit(set, set.Len(), block, blocks, nil).Rate(); ok {
		p.TokenHit = &v
	}
	if v, ok := datasets.Ideal(set, set.Len(), block, nil).Rate(); ok {
		p.Endless = &v
	}
	return p
}
