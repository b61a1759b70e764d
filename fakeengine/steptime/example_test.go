package steptime_test

import (
	"fmt"

	"goodput/fakeengine/steptime"
	"goodput/profiles"
)

func ExampleAnalytic_Bill() {
	gpu, _ := profiles.LoadGPU("h100-sxm")
	model, _ := profiles.LoadModel("llama-3.1-8b")
	a, err := steptime.New(gpu, model, 1, 8192)
	if err != nil {
		fmt.Println(err)
		return
	}
	// 64 answers of 1,000 tokens each, beside the first chunk of a prompt.
	var b steptime.Batch
	for range 64 {
		b.Add(1000, 1)
	}
	b.Add(0, 512)
	b.Emit = 64
	bill := a.Bill(&b)
	fmt.Printf("matmul %.1f ms, kv %.1f ms, step %.1f ms\n",
		float64(bill.Matmul)/1e9, float64(bill.KV)/1e9, float64(a.Step(&b))/1e9)
	// Output: matmul 10.7 ms, kv 6.9 ms, step 24.3 ms
}
