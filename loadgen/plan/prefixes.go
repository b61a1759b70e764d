package plan

const (
	prefixRepetition = "prefix_repetition"
	sharedPrefix     = "shared_prefix"
)

// defaultPerGroup is the number of prompts of each group of shared_prefix if nothing
// says it.
const defaultPerGroup = 16

// sharedPrompts is the number of requests that the groups of shared_prefix make.
func (p *Plan) sharedPrompts() int {
	per := p.SharedPrompts
	if per == 0 {
		per = defaultPerGroup
	}
	return p.SharedGroups * per * p.SharedTurns
}

// checkPrefixes checks the workloads that are about shared prefixes.
func (p *Plan) checkPrefixes(v *checker) {
	const most = 1 << 24
	v.zipf("prefix-repetition-zipf", p.PrefixZipf)
	p.checkTargetHit(v)

	v.within("shared-prefix-num-groups", p.SharedGroups, 1, most)
	v.within("shared-prefix-prompts-per-group", p.SharedPrompts, 0, most)
	v.within("shared-prefix-system-prompt-len", p.SharedSystem, 0, most)
	v.within("shared-prefix-question-len", p.SharedQuestion, 1, most)
	v.within("shared-prefix-output-len", p.SharedOutput, 1, most)
	v.within("shared-prefix-num-turns", p.SharedTurns, 1, 1000)
	v.within("shared-prefix-global-len", p.SharedGlobal, 0, most)
	v.within("shared-prefix-tenant-len", p.SharedTenant, 0, most)
	v.within("shared-prefix-tenants", p.SharedTenants, 0, p.SharedGroups)
	v.ok(p.SharedTenant == 0 || p.SharedTenants > 0, "shared-prefix-tenants", "how many tenants have the prefix of --shared-prefix-tenant-len?")
	v.zipf("shared-prefix-zipf", p.SharedZipf)
	v.ratio("shared-prefix-range-ratio", p.SharedRange)
	if p.DatasetName == sharedPrefix && p.SharedPrompts > 0 && p.NumPrompts > 0 {
		v.ok(p.NumPrompts == p.sharedPrompts(), "num-prompts", "%d are not the %d of %d groups of %d, of %d turns: leave out this flag or --shared-prefix-prompts-per-group",
			p.NumPrompts, p.sharedPrompts(), p.SharedGroups, p.SharedPrompts, p.SharedTurns)
	}
	p.checkRAG(v)
}

func (p *Plan) checkRAG(v *checker) {
	const most = 1 << 24
	v.within("rag-num-documents", p.RAGDocuments, 1, most)
	v.within("rag-document-len", p.RAGDocument, 1, most)
	v.within("rag-top-k", p.RAGTopK, 1, 100)
	v.ok(p.RAGTopK <= p.RAGDocuments, "rag-top-k", "%d different documents cannot be drawn from the %d of --rag-num-documents", p.RAGTopK, p.RAGDocuments)
	v.within("rag-system-prompt-len", p.RAGSystem, 0, most)
	v.within("rag-question-len", p.RAGQuestion, 1, most)
	v.within("rag-output-len", p.RAGOutput, 1, most)
	v.zipf("rag-zipf", p.RAGZipf)
	v.ratio("rag-range-ratio", p.RAGRange)
	v.oneOf("rag-order", p.RAGOrder, "random", "rank")
}

// checkTargetHit refuses a target together with what makes it wrong.
func (p *Plan) checkTargetHit(v *checker) {
	const flag = "prefix-repetition-target-hit"
	if p.PrefixTargetHit == 0 {
		return
	}
	v.ok(p.PrefixTargetHit > 0 && p.PrefixTargetHit < 1, flag, "%v is outside 0 to 1 (both excluded), such as 0.75", p.PrefixTargetHit)
	v.ok(p.DatasetName == prefixRepetition, flag, "it is for --dataset-name prefix_repetition, and the load is %s: leave it out", p.DatasetName)
	v.ok(p.CacheSalts == 0, flag, "tenants of --cache-salts share no prefixes, so the rate would be another one: give one of the two")
	v.ok(len(p.LoraModules) == 0, flag, "adapters of --lora-modules share no prefixes, so the rate would be another one: give one of the two")
}

func (v *checker) zipf(flag string, s float64) {
	v.ok(s >= 0 && s <= 10, flag, "%v is outside 0 to 10", s)
}

func (v *checker) ratio(flag string, r float64) {
	v.ok(r >= 0 && r < 1, flag, "%v is outside 0 (included) to 1 (excluded)", r)
}
