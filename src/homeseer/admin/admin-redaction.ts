/**
 * Admin redaction: which parts of an administration call may be shown to the caller and the approver, and recorded.
 *
 * The caller is not shown an old password either, because a model that sets a new one does not need it.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import { hideSecretsInJson, redactArguments } from '../../guard/redaction.ts'
import { REDACTED_PLACEHOLDER } from '../../guard/secret-detection.ts'
import type { AdminOperation } from './admin-operation.ts'

export interface AdminCallRedactor {
  readonly payload: JsonObject
  /** Redacts a record from before or after the call. */
  readonly record: (record: JsonObject) => JsonObject
  /** Redacts an answer of HomeSeer or the adapter, whose form is theirs to choose. */
  readonly raw: (raw: Json) => Json
}

/**
 * The name under which `system.config.set` and similar operations pass what they set; it may be a secret, and no other
 * member says so.
 */
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
