// Package autoscale changes how many replicas of a pool serve, by what they report, as
// the Horizontal Pod Autoscaler of Kubernetes does with a metric of engines.
//
// At each evaluation the number that is wanted is the sum of the metric over the
// replicas that serve, divided by the target for one, rounded up; within 10 % of the
// target the number stays. More are started at once and take requests when the cold
// start is over, without anything cached. Fewer are kept only when no evaluation of the
// last cool-down wanted more: first those that are still starting go, then the one with
// the highest number, which ends what it has and takes nothing new.
//
// It neither knows of requests nor picks replicas for them: who serves the replicas is
// its Host, which asks package router.
package autoscale
