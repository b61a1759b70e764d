package server

import "strconv"

// maxLogprobs is vLLM's default bound on top_logprobs and logprobs.
const maxLogprobs = 20

// noLogprobs is a request without them.
const noLogprobs = -1

// logprob is the logarithm of a token's probability. Words are drawn evenly from
// 16 letters to the power of four, so it is -16 ln 2 for all of them: that of the
// token that came, and of every alternative.
const logprob = "-11.090354888959125"

// appendTextLogprobs appends the logprobs of a completion for tokens from to to,
// with n alternatives each.
func (a *answer) appendTextLogprobs(dst []byte, from, to, n int) []byte {
	dst = append(dst, `{"text_offset":[`...)
	dst = list(dst, from, to, func(dst []byte, i int) []byte { return strconv.AppendInt(dst, int64(i*wordLen), 10) })
	dst = append(dst, `],"token_logprobs":[`...)
	dst = list(dst, from, to, func(dst []byte, _ int) []byte { return append(dst, logprob...) })
	dst = append(dst, `],"tokens":[`...)
	dst = list(dst, from, to, func(dst []byte, i int) []byte { return a.appendAlternative(dst, i, 0) })
	dst = append(dst, `],"top_logprobs":[`...)
	dst = list(dst, from, to, func(dst []byte, i int) []byte {
		dst = append(dst, '{')
		// The token that came is one of them, and is there even if none was asked for.
		dst = list(dst, 0, max(1, n), func(dst []byte, j int) []byte {
			dst = a.appendAlternative(dst, i, j)
			dst = append(dst, ':')
			return append(dst, logprob...)
		})
		return append(dst, '}')
	})
	return append(dst, "]}"...)
}

// appendChatLogprobs is the same in the shape of a chat.
func (a *answer) appendChatLogprobs(dst []byte, from, to, n int) []byte {
	dst = append(dst, `{"content":[`...)
	dst = list(dst, from, to, func(dst []byte, i int) []byte {
		dst = a.appendChatLogprob(dst, i, 0)
		dst = append(dst, `,"top_logprobs":[`...)
		dst = list(dst, 0, n, func(dst []byte, j int) []byte {
			return append(a.appendChatLogprob(dst, i, j), '}')
		})
		return append(dst, "]}"...)
	})
	return append(dst, "]}"...)
}

func (a *answer) appendChatLogprob(dst []byte, i, j int) []byte {
	dst = append(dst, `{"token":`...)
	dst = a.appendAlternative(dst, i, j)
	dst = append(dst, `,"logprob":`...)
	dst = append(dst, logprob...)
	dst = append(dst, `,"bytes":[`...)
	word := a.alternative(i, j)
	dst = list(dst, 0, wordLen, func(dst []byte, k int) []byte { return strconv.AppendInt(dst, int64(word[k]), 10) })
	return append(dst, ']')
}

// list appends items from to to with commas between them.
func list(dst []byte, from, to int, item func(dst []byte, i int) []byte) []byte {
	for i := from; i < to; i++ {
		if i > from {
			dst = append(dst, ',')
		}
		dst = item(dst, i)
	}
	return dst
}

// alternative j of token i is another word; 0 is the one that came.
func (a *answer) alternative(i, j int) (word [wordLen]byte) {
	putWord(word[:], a.key, i)
	for k := 1; j > 0; k++ { // changes one letter for every four bits of j
		word[k] = 'a' + (word[k] - 'a') ^ byte(j&15)
		j >>= 4
	}
	return word
}

func (a *answer) appendAlternative(dst []byte, i, j int) []byte {
	word := a.alternative(i, j)
	dst = append(dst, '"')
	dst = append(dst, word[:]...)
	return append(dst, '"')
}
