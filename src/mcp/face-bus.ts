/**
 * Face bus: the part of the capability bus that a face for models needs, and nothing more of it.
 */
import type { CapabilityBus } from '../bus/bus.ts'
import type { Caller } from '../bus/call.ts'

export type FaceBus = Pick<
  CapabilityBus,
  'nodeId' | 'call' | 'offers' | 'nodesOffering' | 'unknownNodeMessage' | 'subscribe' | 'onResource'
>
export type FaceCallOptions = Parameters<FaceBus['call']>[3]

/** MCP callers have shown a credential, or are the owner's own programs on this machine. */
export type FacePrincipal = Extract<Caller, { kind: 'principal' }>
