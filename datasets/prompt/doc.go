// Package prompt turns planned content into text: it reads the spans of a prompt
// as bytes, generated while they are read, of a length known beforehand.
//
// A token is a space and a common English word of four letters, drawn by the
// span's key from a vocabulary of 512 words. Each of them is one token, with its
// space, in the public vocabularies of GPT-2, cl100k, o200k, Llama 3 and Mistral
// 7B, and their pre-tokenisers cut before each space, so that a prompt of n tokens
// costs n tokens on such a server and equal prefixes stay equal after
// tokenisation. What a server adds (a BOS token, a chat template) comes on top.
// Other tokenisers may split a word.
//
// A Chat is the same tokens as messages, by the roles of the spans. The chat template of a
// server adds tokens to each message, and to each tool call those of its JSON, so that a
// chat has more tokens there than planned; the fake server's adds none.
//
// The text that a key stands for is frozen: it is the same on all machines, in all
// runs and in all releases. It holds only lower-case letters and spaces, so it
// needs no escaping in JSON.
//
// It does not choose keys or lengths (package datasets), and it does not count
// tokens of other text.
package prompt
