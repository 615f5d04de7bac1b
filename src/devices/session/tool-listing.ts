/**
 * Tool listing: discovery of a device's tools, page by page, until the cursor ends or stops making sense.
 *
 * The cursor is the name of the first tool that did not fit. A tool too large for any page ends the list with an error
 * about a payload limit, as does a cursor the device no longer knows: what was read so far is kept, with a warning.
 */
import type { Json } from '../../core/json.ts'
import type { DeviceTool } from '../wire/tool-list.ts'
import { decodeToolPage } from '../wire/tool-list.ts'
import { EMPTY_TOOL_LISTING_PROGRESS } from './session.ts'
import { internToolList } from './interned-tools.ts'
import type { SessionStepDraft } from './session-step-draft.ts'
import { startRpcRequest, addSessionEffect, updateDraftSession } from './session-step-draft.ts'

const MAX_WARNINGS = 16
const MAX_WARNING = 256

/** `withUserTools` is sent with every page: without it, a device answers a cursor of a user-only tool with an error. */
export function requestToolPage(turn: SessionStepDraft): void {
  const { settings, listing, round } = turn.session
  startRpcRequest(turn, {
    method: 'tools/list',
    params: { cursor: listing.cursor, withUserTools: settings.withUserTools },
    purpose: { kind: 'list', round },
    timeoutMs: settings.requestMs,
  })
}

export function handleToolPage(turn: SessionStepDraft, result: Json): void {
  const page = decodeToolPage(result)
  if (!page.ok) {
    finishToolListing(turn, page.fault.problem)
    return
  }
  const { listing, settings } = turn.session
  const known = new Set(listing.tools.map((tool) => tool.name))
  const fresh = page.value.tools.filter(({ name }) => !known.has(name) && known.add(name))
  const repeated = page.value.tools.length - fresh.length
  const tools = [...listing.tools, ...fresh]
  const warnings = [...listing.warnings, ...page.value.skipped]
  if (repeated > 0) warnings.push(`${repeated} tools were listed twice`)
  const { nextCursor } = page.value
  updateDraftSession(turn, {
    attempts: 0,
    listing: {
      tools: tools.slice(0, settings.maxTools),
      warnings,
      cursor: nextCursor ?? '',
      seen: [...listing.seen, listing.cursor],
    },
  })
  const problem = reasonToStop(turn, tools.length, nextCursor)
  if (nextCursor === undefined || problem !== undefined) finishToolListing(turn, problem)
}

function reasonToStop(turn: SessionStepDraft, count: number, nextCursor: string | undefined): string | undefined {
  const { settings, listing } = turn.session
  if (count > settings.maxTools) return `the device lists more than ${settings.maxTools} tools`
  if (nextCursor === undefined) return undefined
  if (listing.seen.includes(nextCursor)) return 'the cursor repeats itself'
  if (listing.seen.length >= settings.maxPages) return `the list goes on after ${settings.maxPages} pages`
  return undefined
}

/** The device stopped answering; tools that it did not list again are assumed to be unchanged. */
export function finishPartialToolListing(turn: SessionStepDraft, problem: string): void {
  const { listing, tools: before, settings } = turn.session
  const read = new Set(listing.tools.map(({ name }) => name))
  const tools = [...listing.tools, ...before.filter(({ name }) => !read.has(name))]
  updateDraftSession(turn, { listing: { ...listing, tools: tools.slice(0, settings.maxTools) } })
  finishToolListing(turn, problem)
}

/** Ends the listing with the pages that were read. If there was none, the tools of the last listing are kept. */
export function finishToolListing(turn: SessionStepDraft, problem: string | undefined): void {
  const { listing, tools: before } = turn.session
  const nothingRead = problem !== undefined && listing.seen.length === 0
  const changed = !nothingRead && !sameTools(before, listing.tools)
  const warnings =
    problem === undefined ? listing.warnings : [...listing.warnings, `the list is incomplete: ${problem}`]
  updateDraftSession(turn, {
    phase: 'ready',
    attempts: 0,
    listing: EMPTY_TOOL_LISTING_PROGRESS,
    tools: changed ? internToolList(listing.tools) : before,
    // Warnings quote the device and are shown to people, so they are cleaned.
    warnings:
      warnings.length === 0
        ? EMPTY_TOOL_LISTING_PROGRESS.warnings
        : warnings.slice(-MAX_WARNINGS).map((text) => text.slice(0, MAX_WARNING).toWellFormed()),
  })
  addSessionEffect(turn, { kind: 'tools', changed })
}

function sameTools(left: readonly DeviceTool[], right: readonly DeviceTool[]): boolean {
  return left.length === right.length && JSON.stringify(left) === JSON.stringify(right)
}
