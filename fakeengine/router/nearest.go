package router

import "fmt"

// didYouMean returns a clause naming the candidate nearest to the mistyped name,
// or "" if none is near enough to be a likely typing error: more than half of
// the candidate's letters wrong is another word.
func didYouMean(name string, candidates []string) string {
	best, least := "", 0
	for _, c := range candidates {
		if d := edits(name, c); d <= len(c)/2 && (best == "" || d < least) {
			best, least = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// edits is the Levenshtein distance of a and b, in bytes.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
