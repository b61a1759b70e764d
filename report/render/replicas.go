package render

// jsonReplica are the requests of the window that one replica answered.
type jsonReplica struct {
	Replica      string     `json:"replica"`
	Requests     int64      `json:"requests"`
	OK           int64      `json:"ok"`
	Failed       int64      `json:"failed"`
	TTFT         jsonMetric `json:"ttft"`
	E2E          jsonMetric `json:"e2e"`
	MeasuredHit  *float64   `json:"measured_hit"`
	OutputTokens int64      `json:"output_tokens"`
}

func (r *Report) replicasJSON() []jsonReplica {
	out := []jsonReplica{}
	for i := range r.Replicas {
		p := &r.Replicas[i]
		out = append(out, jsonReplica{
			Replica: p.Name, Requests: p.N, OK: p.OK, Failed: p.Failed, TTFT: unitJSON(p.TTFT), E2E: unitJSON(p.E2E),
			MeasuredHit: maybe(p.Hit.Value(), p.Hit.Known()), OutputTokens: p.OutputTokens,
		})
	}
	return out
}
