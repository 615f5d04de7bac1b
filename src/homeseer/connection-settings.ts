/**
 * Connection settings: how HomeSeer is reached according to the configuration, for the gateway, the doctor and the list
 * of classes.
 */
import type { HomeseerConfig } from '../config/homeseer.ts'
import type { JsonClientOptions } from './wire/json-client.ts'

/** The configuration of a gateway that has a HomeSeer. */
export type HomeseerConfigWithUrl = HomeseerConfig & { readonly url: string }

/** Larger than the state of any house; a longer answer is cut off. */
const MAX_REPLY_BYTES = 64 * 1_024 * 1_024

export function readJsonClientSettings({
  url,
  user,
  password = '',
  authentication,
  timeoutMs,
}: HomeseerConfigWithUrl): Pick<
  JsonClientOptions,
  'baseUrl' | 'credentials' | 'authentication' | 'timeoutMs' | 'maxReplyBytes'
> {
  const credentials = user === undefined ? undefined : { user, password }
  return { baseUrl: url, credentials, authentication, timeoutMs, maxReplyBytes: MAX_REPLY_BYTES }
}

/** The address of the ASCII port; `undefined` if none is configured. */
export function readAsciiAddress({
  url,
  push: { asciiPort: port },
}: HomeseerConfigWithUrl): { readonly host: string; readonly port: number } | undefined {
  return port === undefined ? undefined : { host: new URL(url).hostname.replaceAll(/^\[|\]$/g, ''), port }
}
