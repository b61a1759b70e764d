package dispatch

// reserve is how many retries and hedges a budget allows beyond its share, and the
// most that it saves up.
const reserve = 10

// budget is a token bucket that fills with requests, not with time: each request earns
// a share of an extra attempt, each extra attempt costs a whole one. So a server in
// trouble gets at most (1 + share) times the load, and ten attempts.
type budget struct{ share, saved float64 }

func newBudget(share float64) budget { return budget{share: share, saved: reserve} }

// earn is called for each request.
func (b *budget) earn() { b.saved = min(reserve, b.saved+b.share) }

// spend reports whether another attempt may be made, and pays for it.
func (b *budget) spend() bool {
	if b.saved < 1 {
		return false
	}
	b.saved--
	return true
}
