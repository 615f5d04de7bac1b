/**
 * Authenticated request: one HTTP request whose principal is known, at an endpoint that exists.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { McpCatalogue, McpEndpointScope } from './catalogue.ts'
import type { FacePrincipal } from './face-bus.ts'

export interface AuthenticatedRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly principal: FacePrincipal
  readonly scope: McpEndpointScope
  readonly catalogue: McpCatalogue
}
