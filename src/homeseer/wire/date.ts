/**
 * Date: the form HomeSeer writes times in.
 *
 *   /Date(1613971427719-0500)/   HS4: milliseconds since 1970 in UTC; the zone is only how the owner would read it
 *   /Date(1410193983884)/        HS3
 *   /Date(-62135596800000)/      never
 *
 * Pure.
 */
const WIRE_DATE = /^\/Date\((-?\d{1,16})([+-]\d{4})?\)\/$/
const NEVER_MS = -62_135_596_800_000

/** Milliseconds since 1970, or `undefined` for never and for what is no date. */
export function decodeWireDate(text: string | undefined): number | undefined {
  const digits = WIRE_DATE.exec(text ?? '')?.[1]
  const ms = digits === undefined ? NEVER_MS : Number(digits)
  // Year 1 in a zone west or east of Greenwich is still never.
  return Math.abs(ms - NEVER_MS) <= 86_400_000 || Math.abs(ms) > 8.64e15 ? undefined : ms
}

export function encodeWireDate(ms: number | undefined, zone = '+0000'): string {
  return ms === undefined ? `/Date(${NEVER_MS})/` : `/Date(${Math.round(ms)}${zone})/`
}
