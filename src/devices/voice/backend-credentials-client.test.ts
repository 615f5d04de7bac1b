import { createServer } from 'node:http'
import { afterEach, expect, it } from 'vitest'
import { listenLocally } from '../../../test/local-port.ts'
import { createVoiceBackendCredentialsClient } from './backend-credentials-client.ts'

const IDENTITY = { deviceId: 'a0:b1:c2:d3:e4:f5', clientId: '7b94d69a-9808-4c59-9c9b-704333b38aff' }
const userAgents: (string | undefined)[] = []
const backend = createServer((request, response) => {
  userAgents.push(request.headers['user-agent'])
  response.end('{"websocket":{"url":"ws://127.0.0.1:1/","token":"T"}}')
})
afterEach(() => new Promise<void>((resolve) => backend.close(() => resolve())))

// RFC 9110 § 5.5: the value of a field is visible ASCII; `fetch` throws on the rest.
it('sends board names that no HTTP header can hold with question marks', async () => {
  userAgents.length = 0
  const ota = `http://127.0.0.1:${await listenLocally(backend)}/`
  for (const board of ['小智', 'a\r\nX-Evil: 1', 'küche']) {
    const described = () => ({ board, firmware: '2.4.2' })
    const credentials = createVoiceBackendCredentialsClient({ ota, describe: described }, () => 0)
    expect(await credentials.address(IDENTITY)).toMatchObject({ kind: 'websocket' })
  }
  expect(userAgents).toEqual(['??/2.4.2', 'a??X-Evil: 1/2.4.2', 'k?che/2.4.2'])
})
