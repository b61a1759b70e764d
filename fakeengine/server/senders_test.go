package server

import (
	"testing"

	"pgregory.net/rapid"
)

// Streams leave the queue in the order in which they came, each once, however adding and
// taking alternate, and the queue keeps no room for those that have left.
func TestSendersQueueIsFirstInFirstOut(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		q := senders{most: 1, running: 1} // a sender that takes when the test wants it
		var mine [grab]*stream
		added, taken := 0, 0
		order := map[*stream]int{}
		for _, n := range rapid.SliceOfN(rapid.IntRange(-80, 100), 1, 60).Draw(r, "steps") {
			for range n {
				st := &stream{}
				order[st] = added
				added++
				q.add(st)
			}
			for range -n {
				if added == taken {
					break
				}
				got := q.take(&mine)
				if want := min(grab, added-taken); got != want {
					r.Fatalf("took %d of %d", got, added-taken)
				}
				for _, st := range mine[:got] {
					if order[st] != taken {
						r.Fatalf("stream %d came out in place %d", order[st], taken)
					}
					taken++
				}
			}
			if left := added - taken; len(q.ready) > 2*left+sendersShare {
				r.Fatalf("%d places for %d streams", len(q.ready), left)
			}
		}
		for added > taken {
			taken += q.take(&mine)
		}
		if q.take(&mine) != 0 || q.running != 0 {
			r.Fatalf("after the last stream %d senders run", q.running)
		}
	})
}

// More senders start where many streams wait, up to their share of the processors.
func TestSendersHelpEachOther(t *testing.T) {
	q := senders{most: 3, running: 1}
	started := 0
	for range 5 * sendersShare {
		// What add would start is only counted.
		q.ready = append(q.ready, nil)
		if q.wanted() {
			q.running++
			started++
		}
	}
	if started != 2 || q.running != 3 {
		t.Errorf("%d senders started, %d run; want 2 more, 3 in all", started, q.running)
	}
	if q = (senders{most: 1, ready: make([]*stream, 1)}); !q.wanted() {
		t.Error("nobody sends the first stream")
	}
}
