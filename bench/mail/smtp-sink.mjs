// An SMTP server that accepts everything, reads nothing but the recipient of a mail, and reports to its parent on request the recipients
// and times. As light as possible: the measurement is about the sender.
import { createServer } from 'node:net';

const END_OF_MAIL = '\r\n.\r\n';
const accepted = [];

const server = createServer((socket) => {
  socket.setNoDelay(true).on('error', () => undefined);
  socket.write('220 sink ESMTP\r\n');
  new Conversation(socket);
});

class Conversation {
  #recipient = '';
  #isInMail = false;
  #rest = '';

  constructor(socket) {
    socket.setEncoding('latin1').on('data', (chunk) => {
      this.#rest += chunk;
      const answers = [];
      for (let answer = this.#next(); answer !== undefined; answer = this.#next()) answers.push(answer);
      if (answers.length > 0) socket.write(answers.join(''));
    });
  }

  /** The answer to the next whole command or mail, or undefined where none is there yet. */
  #next() {
    const end = this.#isInMail ? END_OF_MAIL : '\r\n';
    const at = this.#rest.indexOf(end);
    if (at === -1) return undefined;
    const text = this.#rest.slice(0, at);
    this.#rest = this.#rest.slice(at + end.length);
    return this.#isInMail ? this.#accept() : this.#obey(text);
  }

  #accept() {
    this.#isInMail = false;
    accepted.push([this.#recipient, performance.timeOrigin + performance.now()]);
    return '250 accepted\r\n';
  }

  #obey(line) {
    const [, recipient] = /^RCPT TO:<([^>]*)>/i.exec(line) ?? [];
    this.#recipient = recipient ?? this.#recipient;
    this.#isInMail = /^DATA$/i.test(line);
    if (this.#isInMail) return '354 go on\r\n';
    return /^EHLO/i.test(line) ? '250-sink\r\n250 8BITMIME\r\n' : '250 fine\r\n';
  }
}

process.on('message', (message) => {
  if (message === 'count') process.send({ count: accepted.length });
  if (message === 'take') process.send({ accepted: accepted.splice(0) });
});
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
