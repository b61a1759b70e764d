package genai

import (
	common "go.opentelemetry.io/proto/otlp/common/v1"

	"goodput/loadgen/record"
)

// attributes are those of one span or point. What is unknown is left out.
type attributes []*common.KeyValue

func (a *attributes) add(key string, v *common.AnyValue) {
	*a = append(*a, &common.KeyValue{Key: key, Value: v})
}

// text adds a text; empty: there is none.
func (a *attributes) text(key, v string) {
	if v != "" {
		a.add(key, &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: v}})
	}
}

func (a *attributes) truth(key string, v bool) {
	a.add(key, &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: v}})
}

func (a *attributes) integer(key string, v int64) {
	a.add(key, &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: v}})
}

// count adds a number that may be unknown.
func (a *attributes) count(key string, v int32) {
	if v != record.Null32 {
		a.integer(key, int64(v))
	}
}

func (a *attributes) double(key string, v float64) {
	a.add(key, &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: v}})
}

// seconds adds a duration in nanoseconds that may be unknown.
func (a *attributes) seconds(key string, ns int64) {
	if ns != record.Null {
		a.double(key, float64(ns)/1e9)
	}
}

// list adds a list of one text.
func (a *attributes) list(key, v string) {
	if v == "" {
		return
	}
	one := &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: v}}
	a.add(key, &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: &common.ArrayValue{Values: []*common.AnyValue{one}}}})
}
