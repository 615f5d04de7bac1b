/** Views: the API's answers, as the console and the CLI read them. Types only, so that importing them costs nothing. */
import type { CredentialRestrictions } from '../bus/call.ts'
import type { DoctorFinding } from '../core/doctor-finding.ts'
import type { Json, JsonObject } from '../core/json.ts'

export type RoleName = 'observer' | 'agent' | 'approver' | 'admin'

/** The caller. */
export interface CurrentUserView {
  readonly signedIn: boolean
  readonly principal: string
  readonly role: RoleName
  /** The session's id; absent for a caller with a token or without a credential. */
  readonly session?: string
}

/** The answer to a sign-in; the other half of the session is in the cookie. */
export interface SignInResultView extends CurrentUserView {
  readonly key: string
  readonly expiresAtMs: number
}

export interface ConsoleSessionView {
  readonly id: string
  readonly principal: string
  readonly role: RoleName
  /** The name that the browser gives itself; untrusted text. */
  readonly browser: string
  readonly createdAtMs: number
  readonly seenAtMs: number
  readonly expiresAtMs: number
}

export interface SignInLinkView {
  readonly url: string
  readonly role: RoleName
  readonly expiresAtMs: number
}

/** One finished call. */
export interface CallTraceView {
  readonly ts: string
  readonly traceId: string
  readonly capability: string
  readonly version: string
  readonly fromNode: string
  readonly toNode?: string | undefined
  /** The names that people gave them, where they are known. */
  readonly fromName?: string
  readonly toName?: string
  readonly isLocal: boolean
  readonly result: string
  readonly ms: number
  readonly caller: string
  readonly channel: string
  readonly attempts: number
  readonly frames: number
  readonly stages: Readonly<Record<string, number>>
}

export interface ApprovalView {
  readonly id: string
  readonly state: 'requested' | 'approved' | 'denied' | 'expired' | 'used'
  readonly binding: { readonly principal: string; readonly tool: string; readonly target?: string | undefined }
  /** The name of the other node that asked, where one did and its name is known. */
  readonly askedBy?: string
  /** For whom that node says that it asked: only claimed, and a name that is valid on that node only. */
  readonly askedFor?: string
  /** The voters and votes, where several people have to agree. */
  readonly round?:
    | {
        readonly need: number
        readonly level: string
        readonly voters: readonly { readonly voter: string }[]
        readonly votes: readonly { readonly voter: string; readonly decision: 'allow' | 'deny' }[]
      }
    | undefined
  readonly shown: {
    readonly title: string
    readonly label?: string
    readonly effect: string
    readonly arguments: JsonObject
    readonly preview?: JsonObject
    readonly channel: string
    readonly client?: string
    readonly traceId: string
  }
  readonly requestedAtMs: number
  readonly expiresAtMs: number
  readonly decidedAtMs?: number | undefined
  readonly decidedBy?: string | undefined
  readonly reason?: string | undefined
  readonly usedAtMs?: number | undefined
  readonly grantId?: string | undefined
}

export interface GrantView {
  readonly id: string
  readonly principal: string
  readonly tool: string
  readonly target?: string | undefined
  readonly bounds: Readonly<Record<string, { readonly min?: number; readonly max?: number }>>
  readonly free: readonly string[]
  readonly approvalId: string
  readonly grantedBy: string
  readonly grantedAtMs: number
  readonly expiresAtMs: number
  readonly maxUses: number
  readonly uses: number
  readonly endedAtMs?: number | undefined
  readonly endedBecause?: string | undefined
}

export interface LedgerView {
  readonly size: number
  readonly state: { readonly kind: string }
  /** A C2SP signed note: text, an empty line, signatures. */
  readonly checkpoint: string | null
  readonly vkey: string
  readonly verification: VerificationView | null
}

export interface VerificationView {
  readonly running: boolean
  readonly checked: number
  readonly size: number
  readonly startedAtMs: number
  readonly endedAtMs: number | null
  /** Sentences; empty when there is no defect. */
  readonly findings: readonly string[]
}

export interface LedgerEntryView {
  readonly seq: number
  readonly at: string
  readonly kind: string
  readonly entry: JsonObject
}

/** One trace with everything that is recorded about it. */
export interface TraceDetailView {
  readonly traceId: string
  /** This node's traces with that id, the earliest first: nested calls and retries have it as well. */
  readonly traces: readonly CallTraceView[]
  /** Call by call, the earliest first: a caller may choose the id, so they need not be of one caller. */
  readonly calls: readonly RecordedCallView[]
  readonly entries: readonly LedgerEntryView[]
  readonly approvals: readonly ApprovalView[]
}

/** What the ledger has about one call. */
export interface RecordedCallView {
  readonly enter: LedgerEntryView
  /** `null` while it is running. */
  readonly exit: LedgerEntryView | null
  readonly arguments: Json | null
  readonly result: Json | null
  /** Why no result is shown, if none is. */
  readonly withheld: 'reads-are-not-kept' | 'erased' | 'none' | null
  /** Why it was refused, rule by rule. A sentence is `null` once it was erased. */
  readonly reasons: readonly { readonly rule: string; readonly sentence: string | null }[]
  /** Its late outcomes, in order. */
  readonly later: readonly LateOutcomeView[]
}

export interface LateOutcomeView {
  readonly entry: LedgerEntryView
  readonly observed: Json | null
  readonly message: string | null
}

export interface MeasurementSeriesView {
  /** Such as `ebus/zone-1/current_temp_c`. */
  readonly id: string
  readonly atMs: readonly number[]
  readonly values: readonly (number | null)[]
}

export interface TokenView {
  readonly name: string
  readonly role: RoleName
  readonly restrictions?: CredentialRestrictions | undefined
  readonly createdAtMs: number
  readonly createdBy: string
  readonly expiresAtMs?: number | undefined
  readonly lastUsedAtMs?: number | undefined
  readonly revokedAtMs?: number | undefined
}

export interface SettingsPageView {
  readonly node: string
  readonly nodeId: string
  readonly version: string
  readonly profiles: readonly { readonly name: string; readonly tools: number; readonly builtIn: boolean }[]
  readonly clients: readonly McpClientSetupView[]
  readonly findings: readonly DoctorFinding[]
}

export interface McpClientSetupView {
  readonly name: string
  readonly where: string
  readonly snippet: string
}

/** The events of the stream, by name. */
export interface ConsoleStreamEvents {
  /** The start of every stream that does not continue another one: everything has to be requested again. */
  readonly hello: {
    readonly node: string
    readonly resumed: boolean
    /** The gateway's time, because the reader's clock may be wrong. */
    readonly atMs: number
  }
  readonly calls: { readonly calls: readonly CallTraceView[]; readonly skipped: number }
  readonly approval: ApprovalView
  /** Capabilities were added, changed or removed. */
  readonly registry: {
    readonly added: readonly string[]
    readonly removed: readonly string[]
    readonly resync: boolean
  }
  readonly resource: { readonly uris: readonly string[] }
  readonly ledger: { readonly size: number; readonly state: string; readonly checkpointSize: number | null }
  readonly verification: VerificationView
  readonly state: {
    readonly stopped: boolean
    readonly mode: string
    readonly inFlight: number
    readonly services: readonly { readonly name: string; readonly status: string }[]
  }
  readonly history: { readonly series: readonly string[] }
}

export interface StatusView {
  readonly node: string
  readonly version: string
  readonly mode: 'full' | 'readonly'
  readonly stopped: boolean
  readonly startedAt: string
  readonly url: string
  readonly tools: number
  readonly ledger: {
    readonly size: number
    readonly root: string
    readonly state: string
    readonly checkpointSize: number | null
  }
  readonly pendingApprovals: number
  readonly services: readonly {
    readonly name: string
    /** The service's own version; built-in services have that of the program. */
    readonly version?: string
    readonly status: 'ok' | 'degraded' | 'failing'
    readonly details: JsonObject
  }[]
}

/** A tool as a list of thousands shows it. */
export interface ToolSummaryView {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly effect: string
  readonly family: string
  readonly profiles: readonly string[]
}

export interface ToolView extends ToolSummaryView {
  readonly version: string
  readonly timeoutSeconds: number
  readonly idempotent: boolean
  /** Which instance it is, such as the device behind it. */
  readonly params: JsonObject
  readonly inputSchema: JsonObject
}

/** The result of a call, in the envelope of the tool's family. */
export interface CallResultView {
  readonly outcome: 'ok' | 'error' | 'denied'
  readonly traceId: string
  readonly structured: Json
  readonly content?: Json
  /** Where the ledger has the call, as `_meta["io.hearthbus/record"]` of an MCP answer; absent where it could not be recorded. */
  readonly record?: JsonObject
  /** Where the answer comes from. */
  readonly from?: { readonly node: string; readonly nodeName?: string; readonly device?: string }
  /** What went wrong, in terms that all families share. */
  readonly fault?: {
    readonly kind: string
    readonly message: string
    readonly reasons: readonly { readonly rule: string; readonly message: string }[]
    readonly details?: JsonObject
  }
}
