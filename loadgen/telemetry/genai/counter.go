package genai

import metrics "go.opentelemetry.io/proto/otlp/metrics/v1"

// counter is a sum that only grows, with a point for each set of attributes.
type counter struct {
	name, unit string
	keys       map[string]*metrics.NumberDataPoint
	points     []*metrics.NumberDataPoint
}

func newCounter(name, unit string) *counter {
	return &counter{name: name, unit: unit, keys: map[string]*metrics.NumberDataPoint{}}
}

func (c *counter) add(key string, n int64, a attributes) {
	p := c.keys[key]
	if p == nil {
		p = &metrics.NumberDataPoint{Attributes: a, Value: &metrics.NumberDataPoint_AsInt{}}
		c.keys[key] = p
		c.points = append(c.points, p)
	}
	p.Value.(*metrics.NumberDataPoint_AsInt).AsInt += n
}

// metric is the counter as it is sent; nil: it has no values.
func (c *counter) metric(from, to uint64) *metrics.Metric {
	if len(c.points) == 0 {
		return nil
	}
	for _, p := range c.points {
		p.StartTimeUnixNano, p.TimeUnixNano = from, to
	}
	return &metrics.Metric{Name: c.name, Unit: c.unit, Data: &metrics.Metric_Sum{Sum: &metrics.Sum{
		DataPoints: c.points, IsMonotonic: true, AggregationTemporality: metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE,
	}}}
}
