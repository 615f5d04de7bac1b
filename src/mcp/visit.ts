/**
 * Visit: one HTTP request by somebody we know, at a door that exists.
 *
 * Pure.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Catalogue, Door } from './catalogue.ts'
import type { Principal } from './face-bus.ts'

export interface Visit {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly principal: Principal
  readonly door: Door
  readonly catalogue: Catalogue
}
