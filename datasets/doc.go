// Package datasets says what is asked: it plans the content of every request
// (spans of prompt content, lengths, groups, recorded arrival times), from
// generators or from trace files, as a pure function of the parameters and the
// seed.
//
// It neither sends nor times anything, and it holds no prompt text: text is
// made from content keys when a body is written (package prompt).
package datasets
