package diagnose

import (
	"fmt"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
	"goodput/report/query"
)

// blackHole: something that fails fast looks idle, and draws load.
func blackHole(f *query.Figures) (Finding, bool) {
	const remedy = "take a replica that fails out of rotation (health checks, outlier ejection; Caddy: fail_duration, HAProxy: check): a rule that looks for the least loaded one prefers it"
	var all, failed int64
	for i := range f.Replicas {
		all += f.Replicas[i].N
		failed += f.Replicas[i].Failed
	}
	for i := range f.Replicas {
		r := &f.Replicas[i]
		othersN, othersFailed := all-r.N, failed-r.Failed
		if len(f.Replicas) < 2 || r.Failed < 20 || share(r.Failed, r.N) < 0.5 || share(othersFailed, othersN) > 0.25 ||
			float64(r.N) < 1.2*float64(all)/float64(len(f.Replicas)) {
			continue
		}
		return Finding{
			Name: "black-hole", What: fmt.Sprintf("replica %s draws load by failing fast", r.Name),
			Evidence: fmt.Sprintf("it got %s of the requests of %d replicas and failed %s of them, in %s at the median; the others failed %s",
				percent(share(r.N, all)), len(f.Replicas), percent(share(r.Failed, r.N)), short(r.FailedAfter.P50), percent(share(othersFailed, othersN))),
			Remedy: remedy,
		}, true
	}
	// Errors often don't say who made them; where they do, the above has looked at them.
	s, bad := &f.Signs, failures(f)
	if 2*failed >= bad || f.Outcomes[record.HTTP429] > bad/2 || bad < 20 || share(bad, f.Scheduled) < 0.2 || s.Answered.N < 20 || s.FailedAfter.P50 > 0.1*s.Answered.P50 {
		return Finding{}, false
	}
	return Finding{
		Name: "black-hole", What: "something answers errors faster than answers",
		Evidence: fmt.Sprintf("%s of the requests failed, in %s at the median, while successes took %s", percent(share(bad, f.Scheduled)), short(s.FailedAfter.P50), short(s.Answered.P50)),
		Remedy:   remedy,
	}, true
}

// herdIndex is the variance of the numbers in flight between replicas, over that of an
// allotment by chance with the replicas' mean shares (1), beyond which they herd.
const herdIndex = 4

// herding: over the run replicas get equal shares, but at each moment one has most.
func herding(f *query.Figures) (Finding, bool) {
	index, mean, fullest, ok := swing(f)
	if !ok || index < herdIndex || mean < 1 {
		return Finding{}, false
	}
	return Finding{
		Name: "herding", What: "requests herd to one replica after the other",
		Evidence: fmt.Sprintf("the replicas' shares of the requests are within %s of equal, but at single moments the fullest had %.3g times the mean in flight (%.3g a replica); the variance between replicas is %.3g times that of chance",
			percent(imbalance(f)-1), fullest, mean, index),
		Remedy: "routers choose by load that is old: count requests of their own since the last report, choose the better of two at random, or refresh more often and out of step",
	}, true
}

// imbalance is the largest number of requests of a replica over the mean.
func imbalance(f *query.Figures) float64 {
	var sum, most int64
	for i := range f.Replicas {
		sum += f.Replicas[i].N
		most = max(most, f.Replicas[i].N)
	}
	return float64(most) * float64(len(f.Replicas)) / float64(max(1, sum))
}

// swing compares the replicas' numbers in flight at the ends of the bins in the window.
// ok is false where their shares differ over the run, which is another thing.
func swing(f *query.Figures) (index, mean, fullest float64, ok bool) {
	n := len(f.Replicas)
	if n < 2 || imbalance(f) > 1.25 {
		return 0, 0, 0, false
	}
	from, to := f.Start, f.Start+clock.Time(f.Window)
	share, total, bins := make([]float64, n), 0.0, 0
	inside := func(i int) bool {
		at := clock.Time(time.Duration(i+1) * f.Timeline.Width)
		return at >= from && at <= to
	}
	for b := range f.Timeline.Bins {
		if !inside(b) {
			continue
		}
		bins++
		for i := range f.Replicas {
			share[i] += float64(f.Replicas[i].InFlight[b])
			total += float64(f.Replicas[i].InFlight[b])
		}
	}
	if bins < 20 || total == 0 {
		return 0, 0, 0, false
	}
	sum, weight, tops := 0.0, 0, 0.0
	for b := range f.Timeline.Bins {
		now := 0.0
		for i := range f.Replicas {
			now += float64(f.Replicas[i].InFlight[b])
		}
		if !inside(b) || now == 0 {
			continue
		}
		chi, top := 0.0, 0.0
		for i := range f.Replicas {
			x := float64(f.Replicas[i].InFlight[b])
			top = max(top, x)
			if want := now * share[i] / total; want > 0 {
				chi += (x - want) * (x - want) / want
			}
		}
		sum += chi / float64(n-1)
		tops += top * float64(n) / now
		weight++
	}
	return sum / float64(weight), total / float64(bins) / float64(n), tops / float64(weight), true
}

// cacheDefeated: prompts have much in common, and the caches find little of it.
func cacheDefeated(f *query.Figures) (Finding, bool) {
	could, by := f.PlannedHit, "one infinite cache"
	if f.PoolHit.Known() {
		could, by = f.PoolHit, "one cache as large as all together"
	}
	if !could.Known() || !f.MeasuredHit.Known() || could.Value() < 0.1 || f.MeasuredHit.Value() >= 0.5*could.Value() {
		return Finding{}, false
	}
	return Finding{
		Name: "cache-defeated", What: "the prefix cache is defeated",
		Evidence: fmt.Sprintf("%s of the prompt tokens were found in caches; %s would have held %s", percent(f.MeasuredHit.Value()), by, percent(could.Value())),
		Remedy:   "send requests with a common prefix to the same replica (session or prefix affinity), and look for text that differs early in the prompt (times, ids) or a template that reorders it",
	}, true
}

// kvBound: the KV cache is what requests wait for.
func kvBound(f *query.Figures) (Finding, bool) {
	waits := f.Manifest.Counters[record.CounterKVWaits]
	preemptions := max(f.Preemptions, f.Manifest.Counters[record.CounterPreemptions])
	if share(waits+preemptions, f.Scheduled) < 0.01 {
		return Finding{}, false
	}
	return Finding{
		Name: "kv-bound", What: "the engines are bound by the size of their KV cache",
		Evidence: fmt.Sprintf("%d requests at the head of a queue found too few blocks, and %d were preempted, of %d; %d tokens were computed again", waits, preemptions, f.Scheduled, f.Recomputed),
		Remedy:   "more replicas or memory for KV (a higher memory share, FP8 KV, tensor parallelism), shorter contexts, or a lower limit on running requests",
	}, true
}

// slotBound: requests wait, and it is not for the KV cache.
func slotBound(f *query.Figures) (Finding, bool) {
	const most = 0.25
	if _, kv := kvBound(f); kv || f.Spent.N < 20 || f.Spent.E2E <= 0 {
		return Finding{}, false
	}
	for _, p := range f.Spent.Parts {
		if p.Name != query.SpentQueue || p.Mean < most*f.Spent.E2E {
			continue
		}
		return Finding{
			Name: "slot-bound", What: "the engines are bound by their slots or their compute",
			Evidence: fmt.Sprintf("%s of the time of a request, %s, is waiting for an engine's first step, and KV blocks were free", percent(p.Mean/f.Spent.E2E), short(p.Mean)),
			Remedy:   "the load is above what the pool takes: more replicas, a lower rate, or more running requests (--engine.max-num-seqs, --engine.max-num-batched-tokens) if TPOT allows",
		}, true
	}
	return Finding{}, false
}

// generatorBound: the generator, not the server, made requests wait.
func generatorBound(f *query.Figures) (Finding, bool) {
	const lateNS, waitShare = 5e6, 0.2
	lag, ok := f.Metric("lag")
	ttft, answered := f.Metric("ttft")
	if ok && lag.N >= 20 && lag.P99 > lateNS && answered && ttft.N > 0 && lag.P99 > 0.05*ttft.P99 {
		return Finding{
			Name: "generator-bound", What: "the generator is late",
			Evidence: fmt.Sprintf("lag P99 is %s, TTFT P99 %s, which counts from the intended time", short(lag.P99), short(ttft.P99)),
			Remedy:   "give the generator processors of its own, spread the load over more of them, or lower the rate",
		}, true
	}
	wait, ok := f.Metric("client_queue")
	if ok && answered && wait.N >= 20 && ttft.N > 0 && wait.Mean > waitShare*ttft.Mean && wait.Mean > lateNS {
		return Finding{
			Name: "generator-bound", What: "the client's own cap makes requests wait",
			Evidence: fmt.Sprintf("%s of the mean TTFT of %s is waiting for a place under the cap", percent(wait.Mean/ttft.Mean), short(ttft.Mean)),
			Remedy:   "raise or drop --max-concurrency, unless the cap is what is being studied",
		}, true
	}
	return Finding{}, false
}
