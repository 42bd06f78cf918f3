package boltjournal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"slices"

	"notwice/journal"
)

// bbolt trusts its pages: one that a loss of power or a bad disk left as it was long ago, yet whole, is read as if it were new, and
// one that leads back to itself ends the process. So a file that is not exactly as the last turn left it is inspected before it is
// used: every page that belongs to it is read once, without bbolt, and what stands in it is summed up and compared with the sum that
// each commit keeps. The layout is that of bbolt's file version 2 (internal/common of go.etcd.io/bbolt v1.5.0).

const (
	pageHead   = 16
	branchPage = 0x01
	leafPage   = 0x02
	headPage   = 0x04
	freePage   = 0x10
	bucketLeaf = 0x01
)

// errEndless: bbolt would follow a page until memory is full.
var errEndless = errors.New("a page leads back to itself, or out of the file")

// head is one of the two pages that say where everything is.
type head struct {
	root, freelist, pages, txid uint64
}

// inspection walks through one file.
type inspection struct {
	file    *os.File
	size    int64
	head    head
	seen    map[uint64]bool
	sum     sum
	meta    map[string][]byte
	damaged error // the first fault
}

// inspect reads a whole journal file. damaged is what is wrong with its contents; err says that it must not be opened at all.
func inspect(path string) (damaged, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	i := inspection{file: f, size: info.Size(), seen: map[uint64]bool{}, meta: map[string][]byte{}}
	if i.head, err = i.newest(); err != nil {
		return nil, fmt.Errorf("%w: %s: %v", journal.ErrDamaged, path, err)
	}
	i.tree(i.head.root, nil, nil, nil)
	i.free()
	i.compare()
	switch {
	case i.damaged == nil:
		return nil, nil
	case endless(f, i.head.root):
		return nil, fmt.Errorf("%w: %s: %v", journal.ErrDamaged, path, errEndless)
	}
	return fmt.Errorf("%w: %s: %v", journal.ErrDamaged, path, i.damaged), nil
}

func (i *inspection) fault(format string, args ...any) {
	if i.damaged == nil {
		i.damaged = fmt.Errorf(format, args...)
	}
}

// newest is the head that bbolt would take: of those that are whole, the one of the later transaction.
func (i *inspection) newest() (newest head, err error) {
	good := false
	for n := range int64(2) {
		b := make([]byte, 64)
		if _, err := i.file.ReadAt(b, n*pageSize+pageHead); err != nil {
			return newest, err
		}
		check := fnv.New64a()
		check.Write(b[:56])
		h := head{root: word(b[16:]), freelist: word(b[32:]), pages: word(b[40:]), txid: word(b[48:])}
		if check.Sum64() == word(b[56:]) && (!good || h.txid > newest.txid) {
			newest, good = h, true
		}
	}
	if !good {
		return newest, errors.New("neither head is whole")
	}
	return newest, nil
}

func word(b []byte) uint64    { return binary.NativeEndian.Uint64(b) }
func half(b []byte) uint32    { return binary.NativeEndian.Uint32(b) }
func quarter(b []byte) uint16 { return binary.NativeEndian.Uint16(b) }

// page reads a page with those that continue it; nil with a fault noted when it is not one.
func (i *inspection) page(id uint64, kinds uint16) []byte {
	b := make([]byte, pageHead)
	if id < 2 || id >= i.head.pages {
		i.fault("page %d is outside the file", id)
		return nil
	}
	if _, err := i.file.ReadAt(b, int64(id)*pageSize); err != nil {
		i.fault("page %d: %v", id, err)
		return nil
	}
	more := uint64(half(b[12:]))
	flags := quarter(b[8:])
	if word(b) != id || flags&kinds == 0 || flags&(flags-1) != 0 || id+more >= i.head.pages || int64(id+more+1)*pageSize > i.size {
		i.fault("page %d is not what it should be", id)
		return nil
	}
	for n := id; n <= id+more; n++ {
		if i.seen[n] {
			i.fault("page %d is used twice", n)
			return nil
		}
	}
	for n := id; n <= id+more; n++ {
		i.seen[n] = true
	}
	b = make([]byte, (more+1)*pageSize)
	if _, err := i.file.ReadAt(b, int64(id)*pageSize); err != nil {
		i.fault("page %d: %v", id, err)
		return nil
	}
	return b
}

// tree walks through a bucket's pages. Their keys lie from first on, and before end where that is not nil.
func (i *inspection) tree(id uint64, bucket, first, end []byte) {
	if b := i.page(id, branchPage|leafPage); b != nil {
		i.node(b, bucket, first, end)
	}
}

// node walks through one page, which may stand inside a value.
func (i *inspection) node(b, bucket, first, end []byte) {
	leaf, count := quarter(b[8:])&leafPage != 0, int(quarter(b[10:]))
	if pageHead+16*count > len(b) || !leaf && count == 0 {
		i.fault("a page of %q says that it holds %d entries", bucket, count)
		return
	}
	var last []byte
	keys, values := make([][]byte, count), make([][]byte, count)
	for n := range count {
		e := b[pageHead+16*n:]
		pos, size, more := uint64(half(e)), uint64(half(e[4:])), uint64(0)
		if leaf {
			pos, size, more = uint64(half(e[4:])), uint64(half(e[8:])), uint64(half(e[12:]))
		}
		if pos+size+more > uint64(len(e)) {
			i.fault("an entry of %q lies outside its page", bucket)
			return
		}
		keys[n], values[n] = e[pos:pos+size], e[pos+size:pos+size+more]
		if n > 0 && bytes.Compare(keys[n], last) <= 0 || leaf && bytes.Compare(keys[n], first) < 0 || end != nil && bytes.Compare(keys[n], end) >= 0 {
			i.fault("the keys of %q are not in order", bucket)
		}
		last = keys[n]
	}
	for n := range count {
		e := b[pageHead+16*n:]
		switch {
		case !leaf:
			until := end
			if n+1 < count {
				until = keys[n+1]
			}
			i.tree(word(e[8:]), bucket, keys[n], until)
		case half(e)&bucketLeaf != 0 && bucket == nil:
			i.bucket(keys[n], values[n])
		case half(e) != 0 || bucket == nil:
			i.fault("an entry of %q is of no known kind", bucket)
		case bytes.Equal(bucket, metaBucket):
			i.meta[string(keys[n])] = slices.Clone(values[n])
		default:
			i.sum.toggle(bucket, keys[n], values[n])
		}
	}
}

// bucket walks through a bucket, which stands inside its value while it is small.
func (i *inspection) bucket(name, value []byte) {
	switch {
	case len(value) < 16:
		i.fault("the part %q has no place", name)
	case word(value) != 0:
		i.tree(word(value), slices.Clone(name), nil, nil)
	case len(value) < 16+pageHead || quarter(value[16+8:])&leafPage == 0:
		i.fault("the part %q is not what it should be", name)
	default:
		i.node(value[16:], slices.Clone(name), nil, nil)
	}
}

// free sees that every page is either used or free: bbolt writes into those that it takes to be free.
func (i *inspection) free() {
	b := i.page(i.head.freelist, freePage)
	if b == nil {
		return
	}
	count, ids := uint64(quarter(b[10:])), b[pageHead:]
	if count == 0xffff {
		count, ids = word(ids), ids[8:]
	}
	if count > uint64(len(ids))/8 {
		i.fault("the list of free pages is longer than its page")
		return
	}
	for n := range count {
		id := word(ids[8*n:])
		if id < 2 || id >= i.head.pages || i.seen[id] {
			i.fault("page %d is used and free at once", id)
			return
		}
		i.seen[id] = true
	}
	for id := uint64(2); id < i.head.pages; id++ {
		if !i.seen[id] {
			i.fault("page %d is neither used nor free", id)
			return
		}
	}
}

// compare holds what was read against what the last commit noted.
func (i *inspection) compare() {
	switch noted, version := i.meta[string(metaSum)], i.meta[string(metaVersion)]; {
	case len(version) != 8:
		i.fault("it holds no journal")
	case binary.BigEndian.Uint64(version) != schemaVersion: // an older one keeps no sum, a newer one we do not know
	case !bytes.Equal(noted, i.sum.noted(i.head.txid)):
		i.fault("a part of what was written is missing, or stands as it was before")
	}
}
