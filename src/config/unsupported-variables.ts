/**
 * Unsupported variables: environment variables of the contract that set nothing here, because their purpose is served
 * in another way, and names that only look like variables of the contract.
 *
 *   what it asks for holds anyway        nothing is said
 *   it asks for less, or for other means a note: it has no effect, and what there is instead
 *   it promises what would not hold      a problem, and no start
 */
type Environment = Readonly<Record<string, string | undefined>>

/** The reaction to one variable: `note` is a warning, `wrong` refuses the start. */
type Reaction = { readonly note: string } | { readonly wrong: string } | undefined

interface Remark {
  readonly name: string
  readonly message: string
}

const NO_EFFECT = 'has no effect here'

const UNSUPPORTED: Readonly<Record<string, (value: string) => Reaction>> = {
  MCP_TRANSPORT: (value) =>
    /^(stdio|http)$/i.test(value)
      ? { note: `${NO_EFFECT}: \`hearthbus up\` serves HTTP, \`hearthbus mcp\` speaks stdio` }
      : { wrong: `${JSON.stringify(value)} is neither stdio nor http` },
  MCP_HTTP_AUTH_REQUIRED_NON_LOOPBACK: flag({
    off: { wrong: 'cannot be switched off: beyond this machine a token is always demanded' },
  }),
  MCP_HTTP_AUTH_PROTECT_HEALTHZ: flag({
    on: {
      wrong:
        '/health and /ready answer whoever can reach the listener and tell nothing of the house; /metrics asks for a token',
    },
  }),
  MCP_HTTP_ACCEPT_MODE: (value) => {
    if (/^strict$/i.test(value)) return undefined
    return /^compat$/i.test(value) ? ACCEPT : { wrong: `${JSON.stringify(value)} is neither strict nor compat` }
  },
  MCP_HTTP_ALLOW_JSON_ONLY: (value) => flag({ on: ACCEPT })(value),
  MCP_LOG_PRETTY: flag({ on: { note: `${NO_EFFECT}: the log is lines of JSON` } }),
  MCP_AUDIT_MAX_ENTRIES: () => ({ note: `${NO_EFFECT}: the ledger keeps every call` }),
  MCP_AUDIT_PERSIST_PATH: () => ({
    note: `${NO_EFFECT}: every call is in the ledger, in the data directory; \`hearthbus ledger export\` writes it out`,
  }),
  HS4_CHANGE_TOKEN_PERSIST_PATH: () => ({
    note: `${NO_EFFECT}: prepared changes survive a restart anyway, sealed, in the data directory`,
  }),
}

const ACCEPT = {
  note: `${NO_EFFECT}: clients of 2025 must accept application/json and text/event-stream, as MCP demands`,
} as const

/** For `hearthbus doctor`, the start, and the documentation. */
export const UNSUPPORTED_VARIABLE_NAMES = Object.keys(UNSUPPORTED)

/** `known` are the variables that are supported. */
export function explainUnsupportedVariables(
  environment: Environment,
  known: ReadonlySet<string>,
): { readonly notes: readonly Remark[]; readonly wrong: readonly Remark[] } {
  const notes: Remark[] = []
  const wrong: Remark[] = []
  for (const [name, raw = ''] of Object.entries(environment)) {
    const value = raw.trim()
    if (value === '') continue
    const reaction = Object.hasOwn(UNSUPPORTED, name) ? UNSUPPORTED[name]?.(value) : explainUnknownName(name, known)
    if (reaction === undefined) continue
    if ('note' in reaction) notes.push({ name, message: reaction.note })
    else wrong.push({ name, message: reaction.wrong })
  }
  return { notes, wrong }
}

/**
 * A safety switch whose name is misspelt would have no effect, so it is reported. Names that begin with `MCP_` may
 * belong to other programs.
 */
function explainUnknownName(name: string, known: ReadonlySet<string>): Reaction {
  if (!name.startsWith('HS4_') || known.has(name)) return undefined
  const near = [...known, ...UNSUPPORTED_VARIABLE_NAMES].find(
    (other) => toComparableName(other) === toComparableName(name),
  )
  const hint = near === undefined ? '' : `; is ${near} meant?`
  return { wrong: `is not a variable of the contract${hint}` }
}

/** A name without the letters that are most often forgotten, doubled or swapped. */
function toComparableName(name: string): string {
  return [...new Set(name.replaceAll(/[^A-Z0-9]/g, ''))].toSorted().join('')
}

/** The reaction to a flag that is on or off; a value that is neither refuses the start. */
function flag({ on, off }: { readonly on?: Reaction; readonly off?: Reaction }): (value: string) => Reaction {
  return (value) => {
    if (/^(1|true|yes|on)$/i.test(value)) return on
    if (/^(0|false|no|off)$/i.test(value)) return off
    return { wrong: `${JSON.stringify(value)} is neither true nor false` }
  }
}
