/**
 * Views text: formats the bus and its measurements for a terminal. Names from outside are cleaned; the complete data is
 * in `--json`.
 */
import type { TopologySnapshot } from '../bus/topology.ts'
import { formatContractDisagreements } from '../web/contract-disagreement-text.ts'
import { findClosestNames, formatNameSuggestion } from '../core/closest-name.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { isJsonObject } from '../core/json.ts'
import type { LedgerEntryView, MeasurementSeriesView, SettingsPageView, ToolView } from '../web/views.ts'
import { createFailureAnswer, formatAge, EXIT_CODES, sanitizeForTerminal, formatTable } from './command-output.ts'
import type { CommandAnswer } from './command-output.ts'

type Entry = TopologySnapshot['capabilitiesLocal'][number]

/**
 * One line per node and service: what it offers, how busy it is, and which of its offers are not used at the moment.
 */
export function formatTopology(topology: TopologySnapshot): CommandAnswer {
  const { ourNodeId, peers, capabilitiesLocal, capabilitiesRemote } = topology
  const names = new Map(peers.map(({ nodeId, displayName }) => [nodeId, displayName ?? nodeId]))
  // The services of a peer are not known here, only its offers.
  const groups = [
    ...Map.groupBy(capabilitiesLocal, ({ owner }) => owner).values(),
    ...Map.groupBy(capabilitiesRemote, ({ nodeId }) => nodeId).values(),
  ]
  const rows = groups.map((entries) => groupRow(entries, names))
  const parts = [
    `This node is ${ourNodeId}${peers.length === 0 ? ' and knows no others.' : '.'}`,
    formatTable(['node', 'service', 'offers', 'calls now', 'slowest', 'quarantined'], rows),
    ...(peers.length === 0 ? [] : [peerTable(peers)]),
    ...formatContractDisagreements(topology),
    ...peers.flatMap(({ refusedOffers }) => (refusedOffers.length === 0 ? [] : [refusedLines(refusedOffers)])),
    'Everything about each of them: --json.',
  ]
  return { json: topology as unknown as Json, text: sanitizeForTerminal(parts.join('\n\n')) }
}

function groupRow(entries: readonly Entry[], names: ReadonlyMap<string, string>): readonly string[] {
  const [first] = entries
  const slowest = entries.toSorted((left, right) => right.p50Ms - left.p50Ms)[0]
  return [
    first === undefined || first.isLocal ? 'here' : (names.get(first.nodeId) ?? first.nodeId),
    first?.isLocal === true ? first.owner : '–',
    String(entries.length),
    String(entries.reduce((sum, { inFlight }) => sum + inFlight, 0)),
    slowest === undefined || slowest.samples === 0 ? '–' : `${slowest.name} ${slowest.p50Ms.toFixed(0)} ms`,
    entries
      .filter(({ quarantinedForMs }) => quarantinedForMs > 0)
      .map(({ name, quarantinedForMs }) => `${name} for ${formatAge(quarantinedForMs)}`)
      .join(', ') || '–',
  ]
}

function refusedLines(refused: TopologySnapshot['peers'][number]['refusedOffers']): string {
  return refused.map(({ reason }) => reason).join('\n')
}

function peerTable(peers: TopologySnapshot['peers']): string {
  return formatTable(
    ['peer', 'offers', 'not taken', 'heard of', 'id'],
    peers.map(({ displayName, capabilities, refused, seenAgoMs, nodeId }) => [
      displayName ?? '–',
      String(capabilities),
      String(refused),
      `${formatAge(seenAgoMs)} ago`,
      nodeId,
    ]),
  )
}

/** The present value of each requested series, with its lowest and highest; of all series, if none is named. */
export function formatMeasurementSummary(
  all: readonly MeasurementSeriesView[],
  requested: readonly string[],
  nowMs: number,
): CommandAnswer {
  if (all.length === 0) return { json: [], text: 'Nothing was measured yet; the house is asked every three minutes.' }
  const ids = all.map(({ id }) => id)
  const unknown = requested.find((id) => !ids.includes(id))
  if (unknown !== undefined) {
    const near = formatNameSuggestion(findClosestNames(unknown, ids))
    return createFailureAnswer(
      `Nothing is measured as ${unknown}. hearthbus history lists what is.${near}`,
      EXIT_CODES.failed,
    )
  }
  const series = requested.length === 0 ? all : all.filter(({ id }) => requested.includes(id))
  const rows = series.map(({ id, atMs, values }) => {
    const unit = unitOf(id)
    const known = values.filter((value) => value !== null)
    const [low, high] = [Math.min(...known), Math.max(...known)].map(rounded)
    const last = values.at(-1)
    return [
      id,
      last === null || last === undefined ? '–' : `${rounded(last)}${unit}`,
      known.length === 0 ? '–' : `${low} … ${high}${unit}`,
      String(known.length),
      `${formatAge(nowMs - (atMs.at(-1) ?? nowMs))} ago`,
    ]
  })
  const text = formatTable(['series', 'now', 'in 24 hours', 'points', 'measured'], rows)
  return { json: series as unknown as Json, text: sanitizeForTerminal(text) }
}

/** Rounded, because a regulator sends 20.28151 °C and measures in tenths of a degree. */
function rounded(value: number): number {
  return Math.round(value * 100) / 100
}

/** Units of the heating's measurements; those of HomeSeer's devices are in HomeSeer's settings. */
const UNITS = { _c: ' °C', _pct: ' %', _bar: ' bar' } as const

function unitOf(id: string): string {
  return Object.entries(UNITS).find(([ending]) => id.endsWith(ending))?.[1] ?? ''
}

export function formatProfiles({ profiles }: SettingsPageView): CommandAnswer {
  const rows = profiles.map(({ name, tools, builtIn }) => [
    name,
    String(tools),
    builtIn ? 'built in' : 'the configuration',
  ])
  return { json: profiles, text: sanitizeForTerminal(formatTable(['profile', 'tools', 'from'], rows)) }
}

/** The fields of an entry that are shown, the most important first. */
const TELLING = ['tool', 'principal', 'outcome', 'approval', 'grant', 'name', 'title', 'by'] as const

export function formatLedgerEntries(entries: readonly LedgerEntryView[]): CommandAnswer {
  const rows = entries.map(({ seq, at, kind, entry }) => {
    const words = TELLING.flatMap((field) => {
      const value = entry[field]
      return typeof value === 'string' ? [value] : []
    })
    return [String(seq), at, kind, words.slice(0, 3).join(', ')]
  })
  return {
    json: entries as unknown as Json,
    text: sanitizeForTerminal(formatTable(['entry', 'when', 'kind', ''], rows)),
  }
}

/** One tool, with everything that a person needs in order to call it. */
export function formatToolDetails(tools: readonly ToolView[], name: string): CommandAnswer {
  const tool = tools.find((candidate) => candidate.name === name)
  if (tool === undefined) {
    const near = findClosestNames(
      name,
      tools.map((known) => known.name),
    )
    return createFailureAnswer(
      `There is no tool ${name} here. hearthbus tools lists them.${formatNameSuggestion(near)}`,
      EXIT_CODES.failed,
    )
  }
  const text = [
    `${tool.name}  ${tool.title}`,
    `  ${tool.effect}, ${tool.family}, ${tool.timeoutSeconds} s at most`,
    '',
    tool.description,
    '',
    argumentsTable(tool.inputSchema),
  ]
  return { json: tool as unknown as Json, text: sanitizeForTerminal(text.join('\n')) }
}

function argumentsTable(schema: JsonObject): string {
  const rows = argumentRows(schema, '', MAX_DEPTH)
  return rows.length === 0 ? 'It takes no arguments.' : formatTable(['argument', '', 'kind', ''], rows)
}

/** Nobody types arguments that are nested deeper than this. */
const MAX_DEPTH = 3

/** A row for each argument, followed by rows for its members: `params.model`, `slots[].start_hour`. */
function argumentRows(schema: JsonObject, prefix: string, depth: number): readonly (readonly string[])[] {
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {}
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  return Object.entries(properties).flatMap(([key, value]) => {
    const inner = isJsonObject(value) ? value : {}
    const { items, description } = inner
    const name = `${prefix}${key}`
    const row = [
      name,
      required.includes(key) ? 'required' : '',
      kindOf(inner),
      typeof description === 'string' ? description : '',
    ]
    if (depth === 1) return [row]
    return isJsonObject(items)
      ? [row, ...argumentRows(items, `${name}[].`, depth - 1)]
      : [row, ...argumentRows(inner, `${name}.`, depth - 1)]
  })
}

/**
 * A type such as `integer`, `"a" | "b"` or `array of string`, which is enough to type a value; the rest is in the
 * schema.
 */
function kindOf({ type, enum: choices, anyOf, const: only, items }: JsonObject): string {
  if (only !== undefined) return JSON.stringify(only)
  if (Array.isArray(choices)) return choices.map((choice) => JSON.stringify(choice)).join(' | ')
  if (type === 'array' && isJsonObject(items)) return `array of ${kindOf(items)}`
  if (typeof type === 'string') return type
  if (Array.isArray(type)) return type.join(' | ')
  if (Array.isArray(anyOf)) return anyOf.map((one) => kindOf(isJsonObject(one) ? one : {})).join(' | ')
  return 'any'
}
