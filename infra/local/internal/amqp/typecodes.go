package amqp

// Constructor bytes of the primitive types (OASIS AMQP 1.0 part 1, section 1.6).
const (
	codeDescribed  = 0x00
	codeNull       = 0x40
	codeTrue       = 0x41
	codeFalse      = 0x42
	codeUint0      = 0x43
	codeUlong0     = 0x44
	codeList0      = 0x45
	codeUbyte      = 0x50
	codeByte       = 0x51
	codeSmallUint  = 0x52
	codeSmallUlong = 0x53
	codeSmallInt   = 0x54
	codeSmallLong  = 0x55
	codeBool       = 0x56
	codeUshort     = 0x60
	codeShort      = 0x61
	codeUint       = 0x70
	codeInt        = 0x71
	codeFloat      = 0x72
	codeChar       = 0x73
	codeDecimal32  = 0x74
	codeUlong      = 0x80
	codeLong       = 0x81
	codeDouble     = 0x82
	codeTimestamp  = 0x83
	codeDecimal64  = 0x84
	codeDecimal128 = 0x94
	codeUUID       = 0x98
	codeBinary8    = 0xa0
	codeString8    = 0xa1
	codeSymbol8    = 0xa3
	codeBinary32   = 0xb0
	codeString32   = 0xb1
	codeSymbol32   = 0xb3
	codeList8      = 0xc0
	codeMap8       = 0xc1
	codeList32     = 0xd0
	codeMap32      = 0xd1
	codeArray8     = 0xe0
	codeArray32    = 0xf0
)

// Descriptors of the composite types (OASIS parts 2, 3 and 5). The message
// sections (0x70 to 0x78) are not among them: payloads stay bytes here.
const (
	descOpen           = 0x10
	descBegin          = 0x11
	descAttach         = 0x12
	descFlow           = 0x13
	descTransfer       = 0x14
	descDisposition    = 0x15
	descDetach         = 0x16
	descEnd            = 0x17
	descClose          = 0x18
	descError          = 0x1d
	descReceived       = 0x23
	descAccepted       = 0x24
	descRejected       = 0x25
	descReleased       = 0x26
	descModified       = 0x27
	descSource         = 0x28
	descTarget         = 0x29
	descCoordinator    = 0x30
	descTransactional  = 0x34
	descSASLMechanisms = 0x40
	descSASLInit       = 0x41
	descSASLOutcome    = 0x44
	descUnknown        = ^uint64(0)
	descFirstSection   = 0x70
	descLastSection    = 0x78

	descProperties            = 0x73
	descApplicationProperties = 0x74
	descValue                 = 0x77
)

// symbolic gives the numeric descriptor for the symbolic one, which a peer may
// send instead (OASIS part 1, section 1.4).
var symbolic = map[string]uint64{
	"amqp:open:list":                descOpen,
	"amqp:begin:list":               descBegin,
	"amqp:attach:list":              descAttach,
	"amqp:flow:list":                descFlow,
	"amqp:transfer:list":            descTransfer,
	"amqp:disposition:list":         descDisposition,
	"amqp:detach:list":              descDetach,
	"amqp:end:list":                 descEnd,
	"amqp:close:list":               descClose,
	"amqp:error:list":               descError,
	"amqp:received:list":            descReceived,
	"amqp:accepted:list":            descAccepted,
	"amqp:rejected:list":            descRejected,
	"amqp:released:list":            descReleased,
	"amqp:modified:list":            descModified,
	"amqp:source:list":              descSource,
	"amqp:target:list":              descTarget,
	"amqp:coordinator:list":         descCoordinator,
	"amqp:transactional-state:list": descTransactional,
	"amqp:sasl-mechanisms:list":     descSASLMechanisms,
	"amqp:sasl-init:list":           descSASLInit,
	"amqp:sasl-outcome:list":        descSASLOutcome,
}
