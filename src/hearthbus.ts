/**
 * Hearthbus: what the package gives to a program that imports it, to run a gateway of its own or to put a service of
 * its own on the bus. docs/services.md says how, `examples/` shows both.
 *
 * The one file that only re-exports: a program needs one name to import from, and we need one list of what must stay
 * compatible. Inside the project, import the defining file.
 *
 * Only joins; the modules do the work.
 */
export type { CallPipeline, NextHandler } from './bus/call-pipeline.ts'
export type { CallOptions } from './bus/call-factory.ts'
export type { CallStream } from './bus/call-stream.ts'
export type { Call, Caller, ContentBlock, StreamFrame, NestedCallOptions, Outcome, Reply } from './bus/call.ts'
export type {
  CallAssessment,
  Capability,
  Effect,
  FamilyEnvelope,
  Offer,
  ParamsMatchRules,
  Service,
  ServiceHealth,
  Stability,
} from './bus/capability.ts'
export { DELEGATING_CHANGE_STEPS, defineChange } from './bus/capability-definition.ts'
export type { ChangeDefinition } from './bus/capability-definition.ts'
export { defaultFamilyEnvelope } from './bus/default-family-envelope.ts'
export type { HandlerContext } from './bus/call-factory.ts'
export { defineService } from './bus/service-definition.ts'
export type { ServiceDefinition } from './bus/service-definition.ts'
export { defineTool } from './bus/capability-definition.ts'
export type { ToolWithoutHandler, ToolDefinition } from './bus/capability-definition.ts'
export { parseConfig } from './config/config-file.ts'
export type { Config } from './config/schema.ts'
export type { Fault, FaultKind, PolicyReason } from './core/fault.ts'
export type { Json, JsonObject } from './core/json.ts'
export { createLogger } from './core/logger.ts'
export type { Logger } from './core/logger.ts'
export { fail, ok } from './core/result.ts'
export type { Result } from './core/result.ts'
export { startGateway } from './main.ts'
export type { Gateway, GatewayOptions } from './main.ts'
