package record

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	segmentPrefix = "requests-"
	segmentSuffix = ".parquet"
	walSuffix     = ".wal"
	tmpSuffix     = ".tmp"
)

// segmentName is the file of segment n, from 1.
func segmentName(n int, suffix string) string {
	return fmt.Sprintf("%s%05d%s", segmentPrefix, n, suffix)
}

// segmentNumber is the inverse of segmentName.
func segmentNumber(name, suffix string) (n int, ok bool) {
	s, ok1 := strings.CutPrefix(name, segmentPrefix)
	s, ok2 := strings.CutSuffix(s, suffix)
	n, err := strconv.Atoi(s)
	if !ok1 || !ok2 || err != nil || n < 1 || segmentName(n, suffix) != name {
		return 0, false
	}
	return n, true
}
