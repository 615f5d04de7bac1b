/**
 * HomeSeer link: joins everything that connects us to one HomeSeer: requests, push, web hooks and the mirror that they
 * update.
 *
 *   JSON client ◀─ ask ─ mirror ◀─ changes ─ ASCII client
 *                          ▲
 *                          └─ changes ─ web hook receiver
 */
import type { Clock } from '../../core/clock.ts'
import { AsciiPushClient, type AsciiConnectionState } from './ascii-push-client.ts'
import { JsonClient, type JsonClientOptions } from './json-client.ts'
import { DeviceMirrorClient } from './device-mirror-client.ts'
import type { DeviceMirrorPollIntervals } from './device-mirror.ts'
import { createWebhookHandler, type WebhookHandler } from './webhook-handler.ts'

export interface HomeseerLinkOptions {
  readonly json: JsonClientOptions
  /** `undefined` if the ASCII port is not used; everything is then polled. */
  readonly ascii:
    | { readonly host: string; readonly port: number; readonly pingMs: number; readonly patienceMs: number }
    | undefined
  /** `undefined` where no web hook is configured. */
  readonly webhookKey: string | undefined
  readonly mirror: DeviceMirrorPollIntervals
  readonly clock: Clock
}

export interface HomeseerLink {
  readonly json: JsonClient
  readonly mirror: DeviceMirrorClient
  /** The state of the push connection; `undefined` if there is none. */
  readonly pushState: () => AsciiConnectionState | undefined
  /** The handler for a listener that HomeSeer can reach. */
  readonly webhook: WebhookHandler | undefined
  /** Starts polling, and listening to the ASCII port. Requests can be sent before. */
  readonly start: () => void
  readonly close: () => void
}

export function createHomeseerLink(options: HomeseerLinkOptions): HomeseerLink {
  const json = new JsonClient(options.json)
  const mirror = new DeviceMirrorClient({ json, rules: options.mirror, clock: options.clock })
  let pushState: AsciiConnectionState | undefined
  const ascii =
    options.ascii &&
    new AsciiPushClient({
      ...options.ascii,
      credentials: options.json.credentials,
      onChanges: mirror.pushed.bind(mirror, 'ascii'),
      onState: (state) => {
        pushState = state
        mirror.pushState(state.up)
      },
    })
  const { webhookKey: key } = options
  const webhook =
    key === undefined
      ? undefined
      : createWebhookHandler({ key, onChange: (change) => mirror.pushed('webhook', [change]) })
  return {
    json,
    mirror,
    pushState: () => pushState,
    webhook,
    start: () => {
      mirror.start()
      ascii?.start()
    },
    close: () => {
      ascii?.stop()
      mirror.stop()
      json.close()
    },
  }
}
