// Package observe turns what was seen of one attempt into its row: an Assembler
// takes the target's events and fills a record.Request, Classify judges how the
// attempt ended, and SLO says whether the request got what it was promised.
//
// It sends and times nothing, it never looks at the length of the text to guess a
// number of tokens, and it aggregates nothing over requests.
package observe
