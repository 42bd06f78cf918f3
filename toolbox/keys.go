package toolbox

import (
	"fmt"
	"io"
	"sync"
	"time"

	"notwice/journal"
)

// minter makes operation keys: UUIDv7 texts (RFC 9562 §5.7), random and in the order of time, also within a millisecond of
// one process.
type minter struct {
	mu     sync.Mutex
	random io.Reader
	last   uint64 // milliseconds << 12 | counter
}

func (m *minter) mint(now time.Time) (journal.Key, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b [16]byte
	if _, err := io.ReadFull(m.random, b[6:]); err != nil {
		return "", fmt.Errorf("random bytes for an operation key: %w", err)
	}
	stamp := uint64(now.UnixMilli())<<12 | uint64(b[6]&0x03)<<8 | uint64(b[7]) // the counter starts in the lower quarter
	if stamp <= m.last {
		stamp = m.last + 1
	}
	m.last = stamp
	ms := stamp >> 12
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	b[6] = 0x70 | byte(stamp>>8)&0x0f
	b[7] = byte(stamp)
	b[8] = 0x80 | b[8]&0x3f
	return journal.Key(fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:16])), nil
}
