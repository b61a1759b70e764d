package wire

import (
	"fmt"
	"testing"
)

func FuzzWhole(f *testing.F) {
	f.Add(uint8(0), []byte(`{"choices":[{"text":"a","finish_reason":"stop"}],"usage":{"completion_tokens":1}}`))
	f.Add(uint8(1), []byte(`{"choices":[{"message":{"content":"a"},"finish_reason":"length"}]}`))
	f.Add(uint8(2), []byte(`{"status":"completed","usage":{"output_tokens":1}}`))
	f.Add(uint8(3), []byte(`{"data":[1]}`))
	f.Add(uint8(1), []byte(`{"choices":[null,1,{}]}`))
	f.Fuzz(func(t *testing.T, api uint8, body []byte) {
		var c Chunk
		Whole(API(api%4), body, &c)
		if c.Last && c.Kind != Delta {
			t.Errorf("complete, and yet %v", c.Kind)
		}
		if c.Kind == Failed || c.Kind == Malformed {
			Clip(c.Message)
		}
	})
}

func ExampleWhole() {
	var c Chunk
	Whole(Chat, []byte(`{"choices":[{"message":{"content":"four words of text"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":4}}`), &c)
	fmt.Println(c.Last, c.Finish, c.Usage.Completion)
	// Output: true stop 4
}
