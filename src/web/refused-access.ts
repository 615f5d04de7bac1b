/**
 * Refused access: who tried to hand out power and was not allowed to, on record. A refusal that leaves no trace invites
 * a second try.
 *
 * Pure: the ledger does the work.
 */
import { callerKey } from '../bus/caller.ts'
import type { Caller } from '../bus/call.ts'
import type { ApiOptions } from './api-context.ts'

/** Making and revoking tokens, letting others in at the console, erasing what was said. */
const WATCHED = ['/tokens', '/ledger/erase', '/console/link'] as const
/** Those who show no credential share one budget of entries. */
const NOBODY = 'unauthenticated'

/** After the answer to a request. Resolves when it is on record, if it is to be. */
export async function recordRefusal(
  { ledger, tooMany }: Pick<ApiOptions, 'ledger' | 'tooMany'>,
  request: { readonly method: string; readonly path: string; readonly caller: Caller | undefined },
  status: number,
): Promise<void> {
  const { method, path, caller } = request
  if (method === 'GET' || method === 'HEAD' || (status !== 401 && status !== 403)) return
  const watched = WATCHED.find((each) => path === `/api${each}` || path.startsWith(`/api${each}/`))
  if (watched === undefined || (caller === undefined && tooMany(NOBODY) !== undefined)) return
  const by = caller === undefined ? NOBODY : callerKey(caller)
  await ledger.append({ kind: 'access.refused', method, path: `/api${watched}`, by, status })
}
