package cosmos

import (
	"encoding/base64"
	"encoding/binary"
	"strings"
)

// Resource ids are base64 of the numbers of a resource and its owners, with -
// for /, as the service writes them.
func encodeRID(b []byte) string {
	return strings.ReplaceAll(base64.StdEncoding.EncodeToString(b), "/", "-")
}

func databaseRID(database uint32) string {
	return encodeRID(binary.BigEndian.AppendUint32(nil, database))
}

func containerRID(database, container uint32) string {
	return encodeRID(ridPrefix(database, container))
}

func itemRID(database, container uint32, sequence uint64) string {
	return encodeRID(binary.BigEndian.AppendUint64(ridPrefix(database, container), sequence))
}

// itemSequence reads the sequence that an item's id ends with.
func itemSequence(rid string) (uint64, bool) {
	b, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(rid, "-", "/"))
	if err != nil || len(b) != 16 {
		return 0, false
	}
	return binary.BigEndian.Uint64(b[8:]), true
}

func offerRID(offer uint32) string {
	return encodeRID(binary.BigEndian.AppendUint32(nil, offer)[1:])
}

func ridPrefix(database, container uint32) []byte {
	// The service sets the top bit of a container's number.
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, database), container|1<<31)
}
