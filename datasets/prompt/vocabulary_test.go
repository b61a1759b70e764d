package prompt

import (
	"slices"
	"strings"
	"testing"
)

func TestVocabulary(t *testing.T) {
	if len(vocabulary) != vocabularySize*tokenBytes+3 {
		t.Fatalf("%d bytes", len(vocabulary))
	}
	words := strings.Fields(vocabulary)
	if len(words) != vocabularySize || !slices.IsSorted(words) || len(slices.Compact(words)) != vocabularySize {
		t.Error("the words are not 512 different ones in order")
	}
	for i := range vocabularySize {
		token := vocabulary[i*tokenBytes : (i+1)*tokenBytes]
		if token[0] != ' ' || strings.Trim(token[1:], "abcdefghijklmnopqrstuvwxyz") != "" {
			t.Errorf("token %d is %q", i, token)
		}
	}
}
