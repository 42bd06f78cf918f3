package boltjournal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"notwice/canonical"
	"notwice/journal"
)

// A record: version, running number of the commit that wrote it, payload, CRC-32C over the record's place and all that.
const (
	frameVersion = 1
	frameHead    = 1 + 8
	frameTail    = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal frames a payload for its place, so that a record that was moved, cut or flipped is seen.
func seal(place []byte, running uint64, payload []byte) []byte {
	b := make([]byte, frameHead, frameHead+len(payload)+frameTail)
	b[0] = frameVersion
	binary.BigEndian.PutUint64(b[1:], running)
	b = append(b, payload...)
	return binary.BigEndian.AppendUint32(b, checksum(place, b))
}

func checksum(place, b []byte) uint32 {
	return crc32.Update(crc32.Checksum(place, castagnoli), castagnoli, b)
}

// open checks a frame and returns its payload.
func open(place, b []byte, running uint64) ([]byte, error) {
	switch {
	case len(b) < frameHead+frameTail:
		return nil, fmt.Errorf("%w: the record at %q is too short", journal.ErrDamaged, place)
	case b[0] > frameVersion:
		return nil, fmt.Errorf("%w: record version %d", journal.ErrVersion, b[0])
	case checksum(place, b[:len(b)-frameTail]) != binary.BigEndian.Uint32(b[len(b)-frameTail:]):
		return nil, fmt.Errorf("%w: the record at %q has a wrong checksum", journal.ErrDamaged, place)
	case binary.BigEndian.Uint64(b[1:]) > running:
		return nil, fmt.Errorf("%w: the record at %q is newer than the file", journal.ErrDamaged, place)
	}
	return b[frameHead : len(b)-frameTail], nil
}

func sealValue(place []byte, running uint64, v any) ([]byte, error) {
	payload, err := canonical.EncodeRecord(v)
	if err != nil {
		return nil, fmt.Errorf("%w: record %q: %v", journal.ErrInvariant, place, err)
	}
	return seal(place, running, payload), nil
}

func openValue(place, b []byte, running uint64, v any) error {
	payload, err := open(place, b, running)
	if err != nil {
		return err
	}
	if err := canonical.DecodeRecord(payload, v); err != nil {
		return fmt.Errorf("%w: the record at %q: %v", journal.ErrDamaged, place, err)
	}
	return nil
}
