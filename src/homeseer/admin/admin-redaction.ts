/**
 * Admin redaction: what of an act of administration may be said: to the caller, to who approves it, and for the record.
 *
 * The caller is told no old password either: a model that set a new one has no use for it.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import { hideSecretsInJson, redactArguments } from '../../guard/redaction.ts'
import { REDACTED_PLACEHOLDER } from '../../guard/secret-detection.ts'
import type { AdminOperation } from './admin-operation.ts'

export interface AdminCallRedactor {
  readonly payload: JsonObject
  /** A record from before or after the act. */
  readonly record: (record: JsonObject) => JsonObject
  /** What HomeSeer or the adapter said, in a form that is theirs to choose. */
  readonly raw: (raw: Json) => Json
}

/** What `system.config.set` and its like call what they set; their records have no other member that says it. */
const INNOCENT = ['value']

export function createAdminCallRedactor(
  { secrets = [], setsSecret }: Pick<AdminOperation, 'secrets' | 'setsSecret'>,
  args: JsonObject,
): AdminCallRedactor {
  const isSecret = setsSecret?.(args) === true
  const names = isSecret ? [...secrets, ...INNOCENT] : secrets
  return {
    payload: redactArguments(args, { requestSchema: {}, secrets: names }),
    record: (record) => hideSecretsInJson(record, names) as JsonObject,
    raw: (raw) => (isSecret ? REDACTED_PLACEHOLDER : hideSecretsInJson(raw, names)),
  }
}
