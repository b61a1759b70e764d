package datasets

import "fmt"

// MaxTokens is the longest prompt part or answer that a set may plan. It keeps
// sums of a few parts within 32 bits.
const MaxTokens = 1 << 28

// checkTokens reports a length outside least..MaxTokens.
func checkTokens(name string, n, least int) error {
	if n < least || n > MaxTokens {
		return fmt.Errorf("%s is %d tokens: use %d to %d", name, n, least, MaxTokens)
	}
	return nil
}
