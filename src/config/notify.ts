/** Notify section: who is notified, away from the console, that a call waits for approval. */
import { z } from 'zod'

const address = z
  .url({ protocol: /^https?$/ })
  .refine(holdsNoLogin, 'without user and password in it: tokenVariable names what holds a token')

const destination = z.strictObject({
  // Whoever knows the URL of a topic or a web hook can post there, so logs and health show its host only.
  url: address.describe('Where a POST is taken, such as a topic at an ntfy server or a web hook.'),
  format: z
    .enum(['json', 'ntfy'])
    .default('json')
    .describe('`json`: an object, for web hooks; `ntfy`: a text with the headers that ntfy shows on a phone.'),
  // The name of the variable, never the token itself: this file is copied, shown and backed up.
  tokenVariable: z
    .string()
    .regex(/^[A-Z_][A-Z0-9_]*$/, 'the name of an environment variable')
    .exactOptional()
    .describe('Environment variable that holds a bearer token for it; no token if absent.'),
  // Off by default: the description of a call often contains the caller's own words.
  names: z
    .boolean()
    .default(false)
    .describe('Also tell what the call is about: the name of the device, the event, the script or the user.'),
  link: address.exactOptional().describe('The console as that person reaches it; goes along to be opened.'),
})

export const notifyConfigSchema = z
  .array(destination)
  .max(8)
  .default([])
  .describe('Who is told when a call waits for a person. What is sent leaves the house: see “Being told”.')

export type NoticeDestinationConfig = z.output<typeof destination>

/** Text that is not a URL at all is reported elsewhere. */
function holdsNoLogin(text: string): boolean {
  if (!URL.canParse(text)) return true
  const { username, password } = new URL(text)
  return username === '' && password === ''
}
