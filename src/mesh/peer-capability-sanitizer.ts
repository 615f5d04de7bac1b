/**
 * Peer capability sanitizer: what a peer says of its capabilities, made fit for a model and marked with the node that
 * says it.
 */
import type { McpExposure, PromptArgument } from '../bus/capability.ts'
import type { PeerCapability } from '../bus/peer.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { isPrintableText, sanitizeLine } from '../core/untrusted-text.ts'

const MAX_TITLE = 96
const MAX_DESCRIPTION = 1_024
const MAX_ARGUMENT_DESCRIPTION = 512
const ARGUMENT_NAME = /^[\w.-]{1,64}$/
const MIME_TYPE = /^[\w.+-]{1,64}\/[\w.+-]{1,64}(?:; ?[\w-]{1,32}=[\w.+-]{1,64})?$/
/** A scheme has to be written out: a template without one would also match the URIs of other providers. */
const URI = /^[a-z][a-z0-9.+-]*:[^\s]*$/i

/** The author of the text comes first, so that no description can claim another one. */
export function sanitizePeerCapability(capability: PeerCapability, node: string): Result<PeerCapability, string> {
  const face = visibleFace(capability.face)
  if (!face.ok) return face
  if (!isPrintableText(JSON.stringify(capability.params))) return fail('its parameters contain invisible characters')
  const shownNode = sanitizeLine(node, 64)
  const title = sanitizeLine(capability.title, MAX_TITLE) || capability.name
  const words = sanitizeLine(capability.description, MAX_DESCRIPTION)
  return ok({
    ...capability,
    face: face.value,
    title: `${shownNode}: ${title}`,
    description: `On the node ${JSON.stringify(shownNode)}. ${words === '' ? 'It says nothing about this.' : `It says: ${words}`}`,
  })
}

function visibleFace(face: McpExposure): Result<McpExposure, string> {
  if (face.kind === 'resource') {
    if (!URI.test(face.uri) || !isPrintableText(face.uri)) return fail('its address is not a URI with a scheme')
    return MIME_TYPE.test(face.mimeType) ? ok(face) : fail('its media type is not valid')
  }
  if (face.kind !== 'prompt') return ok(face)
  if (face.arguments.some(({ name }) => !ARGUMENT_NAME.test(name)))
    return fail('one of its arguments has a name that cannot be typed')
  return ok({ kind: 'prompt', arguments: face.arguments.map(visibleArgument) })
}

function visibleArgument({ name, description, required }: PromptArgument): PromptArgument {
  return { name, description: sanitizeLine(description, MAX_ARGUMENT_DESCRIPTION), required }
}
