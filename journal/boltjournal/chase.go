package boltjournal

import "os"

// chase follows a damaged file as bbolt would, which believes what it reads: it goes from page to page until it meets a leaf, without
// asking how far it has come. Where that may never end the file must not be given to it.
type chase struct {
	file    *os.File
	ended   map[uint64]bool // pages that were met: false while they lead to the present one
	roots   []uint64        // of the buckets that leaves of the first tree name
	endless bool
}

// endless reports whether something in a file leads back to itself, or out of the file.
func endless(file *os.File, root uint64) bool {
	c := chase{file: file, ended: map[uint64]bool{}}
	c.from(root, c.buckets)
	for _, r := range c.roots {
		c.from(r, func(int64, int) {})
	}
	return c.endless
}

// read returns up to n bytes, fewer at the end of the file.
func (c *chase) read(at int64, n int) []byte {
	b := make([]byte, n)
	got, _ := c.file.ReadAt(b, at)
	return b[:got]
}

// from follows a page. leaf is told where each leaf is and how many entries it says to have.
func (c *chase) from(id uint64, leaf func(at int64, count int)) {
	if ended, met := c.ended[id]; met || id >= 1<<40 {
		c.endless = c.endless || met && !ended
		return
	}
	at := int64(id) * pageSize
	b := c.read(at, pageHead)
	if len(b) < pageHead || word(b) != id { // bbolt gives up
		return
	}
	count := int(quarter(b[10:]))
	switch quarter(b[8:]) {
	case leafPage:
		leaf(at, count)
	case branchPage, freePage, headPage: // whatever is no leaf is taken for a branch
		c.ended[id] = false
		for _, child := range c.children(at, count) {
			c.from(child, leaf)
		}
		c.ended[id] = true
	}
}

// children are the pages that the entries of a branch name. Where there are none, or not all of them are in the file, bbolt goes on in
// memory that is not the file's, and nobody knows how it ends.
func (c *chase) children(at int64, count int) (ids []uint64) {
	b := c.read(at+pageHead, 16*count)
	c.endless = c.endless || count == 0 || len(b) < 16*count
	for ; len(b) >= 16; b = b[16:] {
		ids = append(ids, word(b[8:]))
	}
	return ids
}

// buckets notes where the buckets of a leaf begin. One that stands in its value is a leaf, or leads back to itself.
func (c *chase) buckets(at int64, count int) {
	entries := c.read(at+pageHead, 16*count)
	for n := 0; len(entries) >= 16*(n+1); n++ {
		e := entries[16*n:]
		if half(e)&bucketLeaf == 0 {
			continue
		}
		value := c.read(at+pageHead+16*int64(n)+int64(half(e[4:]))+int64(half(e[8:])), 16+pageHead)
		switch {
		case len(value) < 16:
		case word(value) != 0:
			c.roots = append(c.roots, word(value))
		case len(value) == 16+pageHead && quarter(value[16+8:]) != leafPage:
			c.endless = true
		}
	}
}
