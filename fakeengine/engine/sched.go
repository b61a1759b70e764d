package engine

type schedState struct{}
